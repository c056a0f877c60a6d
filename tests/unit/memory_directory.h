/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory in memory for the editor of directories, which can be damaged. Every failure ends the test. */
#pragma once

#include "directory_names.h"
#include "update/directory/directory_editor.h"

#define MEMORY_INO 12u
#define MEMORY_PARENT_INO 2u
#define MEMORY_INODES 1000u
#define MEMORY_GENERATION 77u

struct memory_directory {
	struct sink sink;
	struct ondisk_format format;
	uint8_t *bytes; /* most_blocks of them; the directory's own come first, block n at n */
	uint32_t blocks, most_blocks;
	uint32_t flags;
	uint32_t writes, taken; /* blocks that were written, and taken by allocate() */
	uint32_t gap_blocks;    /* between two runs that allocate() gives */
	uint32_t gaps;          /* blocks of all of them */
	int64_t blocks_left;    /* before ENOSPC; negative: no limit */
	bool is_unreadable;     /* EIO */
};

/* The format is plain, with blocks of so many bytes: dir_index, filetype, extents, half-MD4. */
void memory_directory_make(struct memory_directory *directory, uint32_t block_bytes, bool checksums);

/* The format can be changed before this. The names are links to inodes from 100 on. most_blocks has room for changes.
 */
void memory_directory_fill(struct memory_directory *directory, struct name_set *set, uint32_t more_blocks);
void memory_directory_free(struct memory_directory *directory);

/* Options for the directory as it is; extent is theirs. */
struct directory_editor_options memory_directory_options(struct memory_directory *directory,
                                                         struct file_extent *extent);

/* Opens an editor; its error. */
errcode_t memory_directory_open(struct memory_directory *directory, struct directory_editor **editor);

/* Writes the right checksum of a block that was damaged, if it is still of some kind. */
void memory_directory_seal(struct memory_directory *directory, uint32_t block);
