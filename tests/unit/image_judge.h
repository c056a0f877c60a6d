/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lib/image against libext2fs: all that is in an image, read by both. A difference ends the test. */
#pragma once

#include <stdint.h>

/* How much was compared, so that a test knows that there was any. */
struct judged {
	unsigned int inodes, records, unwritten, map_blocks, depth, names, xattrs, value_inodes, acls, symlinks,
		inline_data;
	unsigned int index_levels;
	unsigned int casefolded;
};

/* Strict reading: an image that is right has no damage. */
struct judged image_judge(const char *path);
