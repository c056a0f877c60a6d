/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report's part about the filesystem as a whole. */
#pragma once

#include "analyze/report/report.h"
#include "image/volume.h"

/* Sets all but filesystem->target; the strings are the volume's. Pure. */
void report_filesystem_describe(const struct volume *volume, struct report_filesystem *filesystem);
