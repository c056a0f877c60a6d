/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A directory's blocks: linear when they fit one block, otherwise htree-indexed from the start (dir_index).
 * Values in, bytes out. Laying out needs only the names, so the size is known before any inode number is.
 */
#ifndef ONDISK_DIRECTORY_H
#define ONDISK_DIRECTORY_H

#include <stddef.h>

#include "ondisk/format.h"

/* A name as the caller has it; entries are passed as an accessor so that nobody copies a million names. */
struct directory_name {
	const char *name; /* any bytes but '/' and NUL */
	uint8_t length_bytes; /* 1 to 255 */
};

struct directory_target {
	uint32_t ino;
	uint8_t file_type; /* EXT2_FT_* ; ignored without the filetype feature */
};

/* The entries of one directory, numbered from 0, in the order that the caller wants of a linear directory. */
struct directory_source {
	const void *context;
	uint32_t count; /* "." and ".." not among them */
	struct directory_name (*name)(const void *context, uint32_t entry);
	struct directory_target (*target)(const void *context, uint32_t entry); /* called by directory_build() only */
};

struct directory_layout; /* which entry goes where */

/*
 * Lays the names out. *blocks: the size of the directory in blocks, at least minimum_blocks (lost+found is
 * kept large; the surplus is empty blocks of a linear directory). Entries of an indexed directory are
 * ordered by hash, leaves are packed full. *ret is NULL for a directory of one block, otherwise the caller
 * frees it with directory_layout_free(); about 8 bytes an entry. Errors: ENOMEM, EFBIG (more than the index can
 * hold: two levels below the root block, three with large_dir), EEXIST is not checked: names are distinct.
 */
MUST_CHECK errcode_t directory_layout(const struct ondisk_format *format, const struct directory_source *source,
                                      uint32_t minimum_blocks, uint32_t *blocks, struct directory_layout **ret);

void directory_layout_free(struct directory_layout *layout);

/* True when the directory is to carry EXT2_INDEX_FL. */
bool directory_is_indexed(const struct directory_layout *layout);

/*
 * Writes the directory's blocks, block_bytes * blocks bytes, checksums of inode ino with this generation
 * included. layout and blocks as directory_layout() gave them for the same source.
 */
MUST_CHECK errcode_t directory_build(const struct ondisk_format *format, const struct directory_source *source,
                                     const struct directory_layout *layout, uint32_t blocks, uint32_t ino,
                                     uint32_t parent_ino, uint32_t generation, void *bytes);

#endif
