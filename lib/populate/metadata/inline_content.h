/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Content that is stored in inodes (feature inline_data). It is read when the inode is written: read by an earlier
 * stage and kept, that of 10 million small files would take a gigabyte.
 */
#pragma once

#include "populate/build/build.h"

/* Each worker has its own. */
struct inline_content {
	const struct build *build;
	struct content_reader *reader; /* the caller's */
	uint8_t *data; /* of one inode */
	uint8_t *area; /* its xattrs with the content after them */
};

/* A zeroed one is valid for inline_content_close() without this. Does nothing without the feature. */
MUST_CHECK errcode_t inline_content_open(struct inline_content *content, const struct build *build,
                                         struct content_reader *reader);
void inline_content_close(struct inline_content *content);

/*
 * Fills in the size, the flags and the root of a node that is_inline. *area: what takes the place of its set's
 * inode_area, valid until the next call. *file_bytes: read from the source.
 */
MUST_CHECK errcode_t inline_content_describe(struct inline_content *content, uint32_t node, struct inode_value *value,
                                             const void **area, uint64_t *file_bytes, struct problem *problem);
