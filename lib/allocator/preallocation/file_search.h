/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file that is being written, as the allocator sees it, and the search for what none of its preallocations has. */
#pragma once

#include "allocator/core/allocator.h"
#include "allocator/preallocation/locality_group.h"

/* One thread at a time uses it. Others only discard its preallocations, for which they need the lock. */
struct ext2mb_file {
	struct preallocation_owner owner;
	struct ext2mb *mb;
	uint64_t blocks;             /* its size */
	uint64_t end;                /* blocks; after it nothing is mapped */
	uint64_t last_logical;       /* where the last allocation ended, in the file */
	uint64_t last_physical;      /* and on disk; 0: there was none, or it was truncated */
	struct directory *directory; /* of the parent, once it was needed */
	ext2_ino_t ino;
	ext2_ino_t parent;
	bool is_final;
	bool goes_far; /* rather has the longest run there is than one that is half as long, and near */
	bool is_registered;
	bool began_small;  /* among the small files */
	bool may_have_any; /* preallocations; else it has none: the thread that uses it makes them on first use */
};

/*
 * It will end at `blocks`, as far as is known now: as if it had been opened with EXT2MB_FILE_FINAL. And it is to have
 * few extents, wherever they are.
 */
static inline void file_expect(struct ext2mb_file *file, uint64_t blocks)
{
	file->is_final = true;
	file->goes_far = true;
	file->blocks = blocks;
}

/*
 * Notes that the file is not written any more, and ends at `blocks`: as if it had been opened with EXT2MB_FILE_FINAL,
 * but its preallocations stay.
 */
static inline void file_ends(struct ext2mb_file *file, uint64_t blocks)
{
	file->is_final = true;
	file->blocks = blocks;
}

/* It is not known where it ends. */
static inline void file_goes_on(struct ext2mb_file *file)
{
	file->is_final = false;
}

/* Where a small file's first blocks go, if its locality group has nothing: a position. */
struct small_goal {
	uint64_t position;
	bool is_in_group; /* in its group rather than anywhere near */
};

/*
 * A policy's small_file_goal. Ours: near the parent, in its directory's share of the group, or without shares in its
 * flex group; the kernel's: near the inode itself.
 */
struct small_goal file_goal_in_share(const struct ext2mb_file *file);
struct small_goal file_goal_in_flex_group(const struct ext2mb_file *file);
struct small_goal file_goal_near_inode(const struct ext2mb_file *file);

struct normalize_request;
struct normalize_goal;

/*
 * Somebody's own answers, which a policy asks for before its own (compare/user_policy.h): where a request of a large
 * file should be, and what it is normalised to. With the file's lock. ELIBBAD.
 */
struct user_operations {
	errcode_t (*goal)(const struct ext2mb_file *file, const struct normalize_request *request, uint64_t *block,
	                  bool *has_goal);
	errcode_t (*normalize)(const struct ext2mb_file *file, const struct normalize_request *request,
	                       struct normalize_goal *normalized, bool *is_normalized);
};

/* The file has all its blocks, as far as can be told: what it has reserved goes to those that come after it. Locks. */
void file_leave_rest(struct ext2mb_worker *worker, struct ext2mb_file *file);

/* Serves a checked request for which the file has no preallocation. EXT2MB_ET_NO_SPACE, ENOMEM. */
MUST_CHECK errcode_t file_search(struct ext2mb_worker *worker, struct ext2mb_file *file,
                                 const struct ext2mb_file_request *request, struct preallocation *taken);

/*
 * Makes sure that the directory is known, if files of one directory share preallocations. No lock is held. The locality
 * group, or the directory's first, that the file has to do with while it is small. ENOMEM.
 */
MUST_CHECK errcode_t file_find_pool(struct ext2mb_worker *worker, struct ext2mb_file *file,
                                    struct locality_group **pool);

/* Keeps the count of a file's open preallocations, and what is known of them without its lock. */
static inline void file_count_preallocations(struct ext2mb_file *file, struct stats *stats, uint32_t before,
                                             uint32_t after)
{
	file->may_have_any = after;
	if (after > before)
		stats_add(stats, COUNT_PREALLOCATIONS_OPENED, after - before);
	else if (after < before)
		stats_add(stats, COUNT_PREALLOCATIONS_CLOSED, before - after);
}
