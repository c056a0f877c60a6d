/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents of files that lie in an image of ext2, ext3 or ext4: where each has its blocks is known from the scan, so
 * reading looks at no metadata. A file's number is the address of its struct image_file, 0 that of a file without any
 * data.
 */
#pragma once

#include "image/volume.h"
#include "image/map_record.h"
#include "disk/raw_image.h"
#include "source/image/image_recognition.h"
#include "support/io/file_version.h"
#include "tree/contents.h"

/* The place of a file's bytes. It is in the tree's memory, and does not change any more. */
struct image_file {
	uint32_t ino;
	uint32_t record_count;
	uint32_t inline_bytes; /* of its beginning, which are here: */
	const uint8_t *inline_data;
	struct map_record records[]; /* ascending, none after the file's end; neighbours are one record */
};

/* An origin's, from image_contents_add() on. */
struct image_origin {
	struct volume volume;
	struct raw_image raw; /* owned: what the volume is in */
	bool is_changeable;   /* a regular file, which must stay as it was when it was opened: */
	struct file_version version;
};

/*
 * Makes an image, which it opens, the first origin of an empty tree. path: what messages call it. Errors: those of
 * raw_image_open() and volume_open_as_replayed(), or of volume_open() if its journal is ignored, ENOMEM. The origin is
 * the tree's to close.
 */
MUST_CHECK errcode_t image_contents_add(struct tree *tree, const char *path, const struct image_name *name,
                                        const struct scan_options *options, struct problem *problem);

/* The image of a tree that begins with such an origin. */
struct image_origin *image_contents_of(const struct tree *tree);

/* As messages call a file, "IMAGE: path". The caller frees it; NULL: no memory. */
char *image_file_path(const char *image, ascend_step step, const void *tree, uint32_t number, const char *name);
