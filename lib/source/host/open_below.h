/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens files below a directory, following no symlink in any component of their paths. */
#pragma once

#include <stdbool.h>

#include "support/problem.h"

/* What has been found out about this host. Zero-initialise; belongs to one worker. */
struct opener {
	bool lacks_openat2;  /* Linux before 5.6, or a filter of system calls that does not know it */
	bool keeps_no_atime; /* O_NOATIME was refused once: do without */
};

/*
 * path is relative, of any length, without ".."; flags are those of open(2), for reading or O_PATH. With O_NOATIME
 * where that is allowed, so that building an image does not change its source. ELOOP or ENOTDIR where a component is a
 * symlink (the last one, with O_PATH, is opened itself); errors of open(2). The caller closes *descriptor.
 */
MUST_CHECK errcode_t open_below(struct opener *opener, int directory, const char *path, int flags, int *descriptor);
