/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each source gave to the image. */
#ifndef POPULATE_SOURCE_REPORT_H
#define POPULATE_SOURCE_REPORT_H

#include "populate/report.h"
#include "source/tree/tree.h"

/* Fills in the report's sources, whose paths are those of the tree's origins. ENOMEM. */
MUST_CHECK errcode_t source_report(const struct tree *tree, struct populate_report *report);

#endif
