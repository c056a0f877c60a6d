/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report says of the filesystem as a whole. */
#pragma once

#include "analyze/report/report.h"
#include "image/volume.h"

/* All but filesystem->target; strings that it points to are the volume's. Pure. */
void report_filesystem_describe(const struct volume *volume, struct report_filesystem *filesystem);
