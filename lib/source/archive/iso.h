/* SPDX-License-Identifier: GPL-2.0-or-later */
/* This mends what libarchive gets wrong of ISO 9660 images. */
#pragma once

#include "source/archive/archive_input.h"

/* The members so far. Zero-initialise. */
struct iso_extents {
	uint64_t start, end; /* of the last one that has contents; in the image */
	bool has_udf, is_known;
	char name[1024]; /* the last one's */
};

/*
 * genisoimage(1) writes device numbers as Rock Ridge has them, the major one apart; libarchive takes both for one
 * dev_t.
 */
void iso_mend_device(struct archive_entry *entry);

/*
 * A member's contents begin where the input is now; members come in the order of their contents. entry NULL: this is
 * the end. An image that has UDF, too, can have files of 4 GiB and more, of which ISO 9660 says only the remainder;
 * then what follows lies further away. False: there is one. Errors of reading.
 */
MUST_CHECK errcode_t iso_note_contents(const struct archive_input *input, struct archive_entry *entry,
                                       struct iso_extents *extents, bool *is_whole);

/*
 * The image ends with its volume, or the partitions that lie after that. Images for USB sticks have partitions and a
 * backup GPT there, which are used when they boot. *end is kept if it is larger. Errors of reading.
 */
MUST_CHECK errcode_t iso_find_end(const struct archive_input *input, uint64_t *end);
