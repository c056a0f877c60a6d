/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where temporary files of the build are kept: TMPDIR, else the image's directory, where there is room, or /var/tmp if
 * the image is a device. */
#pragma once

/* The caller frees it; NULL: no memory. */
char *spool_directory(const char *image);
