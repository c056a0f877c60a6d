/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files that libext2fs's calls have allocated blocks for lately, with the allocator's handles, so that the next
 * block comes from the file's preallocation. No call of libext2fs says that a file is closed: the one that was used
 * longest ago makes room for the next.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/ext2mb.h"
#include "support/problem.h"

struct attached_file {
	struct ext2mb_file *file;
	ext2_ino_t ino;
	bool is_indirect; /* mapped by indirect blocks, which stand among its data */
	bool goes_back;   /* the program has not written it in order */
	uint64_t size;    /* blocks, as of late: programs may set it first and write then */
	uint64_t
		next_logical; /* after the last block that it got; of indirect-mapped ones in the order of allocation */
	uint64_t run_start;   /* on disk: the last blocks that it got one after the other; run_end 0: none */
	uint64_t run_end;
	uint32_t same_hash; /* the next one, an index; ATTACHED_FILES_NONE */
	uint32_t newer;
	uint32_t older;
};

#define ATTACHED_FILES_NONE UINT32_MAX

/*
 * As long as no file goes on but the newest, after as many the one before is taken to be complete when the next begins,
 * which gets what was reserved for it.
 *
 * Begins with few, and has more once files go on that it has not: written one after the other, 2000 files of 1 to 8
 * blocks that were all remembered left 1011 free extents, because each kept 16 blocks; libext2fs alone leaves 7.
 */
#define ATTACHED_FILES_FIRST 64u
#define ATTACHED_FILES_DEFAULT 1024u
#define ATTACHED_FILES_MOST (1u << 20)

struct attached_files {
	struct attached_file *items;
	uint32_t *heads; /* by hash of the inode number */
	uint32_t mask;
	uint32_t count;
	uint32_t kept;  /* so many now, at most */
	uint32_t most;  /* that may ever be kept */
	uint32_t begun; /* since one went on that was not the newest */
	uint32_t newest;
	uint32_t oldest;
};

/* ENOMEM. */
MUST_CHECK errcode_t attached_files_create(struct attached_files *files, uint32_t most);
void attached_files_destroy(struct attached_files *files, struct ext2mb_worker *worker);

/* Now the newest; NULL: it is not there. */
struct attached_file *attached_files_find(struct attached_files *files, ext2_ino_t ino);

/* As the newest, in place of the oldest if there are enough. ext2mb_file_open()'s errors. */
MUST_CHECK errcode_t attached_files_add(struct attached_files *files, struct ext2mb_worker *worker,
                                        const struct ext2mb_file_info *info, struct attached_file **ret);

/* One that goes on was not there: more are kept from now on. */
void attached_files_keep_more(struct attached_files *files);

/*
 * The indirect-mapped file in whose last run the block lies, now the newest; 0: the newest file if it is such a one,
 * for after a hole libext2fs names no block. NULL: none.
 */
struct attached_file *attached_files_find_indirect(struct attached_files *files, uint64_t block);

/* The file whose last run ends before the block; NULL: none. */
struct attached_file *attached_files_find_end(struct attached_files *files, uint64_t block);

/* The file has got these blocks, the first of them for `logical`. */
void attached_file_extend(struct attached_file *file, uint64_t logical, const struct ext2mb_extent *extent);
