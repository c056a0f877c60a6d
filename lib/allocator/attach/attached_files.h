/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files for which libext2fs's calls have recently allocated blocks, with the allocator's handles, so that the next
 * block comes from the file's preallocation. No call of libext2fs says that a file is closed, so the least recently
 * used file makes room for the next.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/ext2mb.h"
#include "support/problem.h"

struct attached_file {
	struct ext2mb_file *file;
	ext2_ino_t ino;
	bool is_indirect; /* mapped by indirect blocks, which lie between its data */
	bool goes_back;   /* the program did not write it in order */
	bool is_ended;    /* the program has closed it */
	bool has_gone_on; /* after that */
	uint64_t size;    /* blocks, as last seen: programs may set the size before they write */
	uint64_t
		/* the block after the last one allocated; in an indirect-mapped file in the order of allocation */
		next_logical;
	uint64_t run_start; /* physical blocks: the last contiguous run allocated; run_end 0: none */
	uint64_t run_end;
	uint32_t same_hash; /* index of the next file in the hash chain, or ATTACHED_FILES_NONE */
	uint32_t newer;
	uint32_t older;
};

#define ATTACHED_FILES_NONE UINT32_MAX

/*
 * Suppose this many files have begun, and only the newest one ever got more blocks. From then on each file counts as
 * complete when the next one begins, and the next one gets its preallocation.
 *
 * The table first keeps ATTACHED_FILES_FIRST files, and keeps more once it misses files that get more blocks. With all
 * files remembered, 2000 files of 1 to 8 blocks written one after the other left 1011 free extents, because each kept
 * 16 blocks; libext2fs alone leaves 7.
 */
#define ATTACHED_FILES_FIRST 64u
#define ATTACHED_FILES_DEFAULT 1024u
#define ATTACHED_FILES_MOST (1u << 20)

struct attached_files {
	struct attached_file *items;
	uint32_t *heads; /* hash chains, by inode number */
	uint32_t mask;
	uint32_t count;
	uint32_t kept;       /* the most files to keep now */
	uint32_t most;       /* the limit of kept */
	uint32_t begun;      /* files begun since a file other than the newest got more blocks */
	uint32_t distrusted; /* closes that say nothing: a file went on after one */
	uint32_t newest;
	uint32_t oldest;
};

/* ENOMEM. */
MUST_CHECK errcode_t attached_files_create(struct attached_files *files, uint32_t most);
void attached_files_destroy(struct attached_files *files, struct ext2mb_worker *worker);

/* Finds the file and makes it the newest; NULL: it is not in the table. */
struct attached_file *attached_files_find(struct attached_files *files, ext2_ino_t ino);

/*
 * Opens a file and adds it as the newest; if the table is full, it replaces the oldest. Errors: ext2mb_file_open()'s.
 */
MUST_CHECK errcode_t attached_files_add(struct attached_files *files, struct ext2mb_worker *worker,
                                        const struct ext2mb_file_info *info, struct attached_file **ret);

/*
 * The program has closed the newest file: it is probably complete, and the next one gets its preallocation. Not so if
 * one that was closed went on a short time ago.
 */
void attached_files_end_newest(struct attached_files *files, struct ext2mb_worker *worker);

/* A file that goes on was missing from the table: keeps more files from now on. */
void attached_files_keep_more(struct attached_files *files);

/*
 * Finds the indirect-mapped file whose last run contains the block, and makes it the newest. Block 0: the newest file
 * if it is indirect-mapped, since libext2fs names no block after a hole. NULL: none.
 */
struct attached_file *attached_files_find_indirect(struct attached_files *files, uint64_t block);

/* The file whose last run ends before the block; NULL: none. */
struct attached_file *attached_files_find_end(struct attached_files *files, uint64_t block);

/* These blocks were allocated to the file, the first of them for `logical`. */
void attached_file_extend(struct attached_file *file, uint64_t logical, const struct ext2mb_extent *extent);
