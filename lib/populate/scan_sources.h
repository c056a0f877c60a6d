/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is to be built, known before anything is formatted. */
#pragma once

#include "populate/build/build.h"
#include "populate/build/report.h"

/* Fills in the members of build that a scan is said to fill in, and what the sources gave to the report. */
MUST_CHECK errcode_t scan_sources(struct build *build, struct populate_report *report);
