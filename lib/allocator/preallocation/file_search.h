/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A file that is being written, as the allocator sees it, and the search for clusters when its preallocations have
 * none.
 */
#pragma once

#include "allocator/core/allocator.h"
#include "allocator/preallocation/locality_group.h"

/* One thread at a time uses a file. Other threads only discard its preallocations, under the owner's lock. */
struct ext2mb_file {
	struct preallocation_owner owner;
	struct ext2mb *mb;
	uint64_t blocks;        /* the file's size */
	uint64_t end;           /* logical block: no block from here on is mapped */
	uint64_t last_logical;  /* the logical block after the last allocation */
	uint64_t last_physical; /* the physical block after it; 0: there was none, or it was truncated */
	/*
	 * logical block: where a preallocation ends that begins before its first request, if the policy ignores
	 * neighbours. Mapped blocks are there, so what it has for them stays unused, and keeps its range from others.
	 */
	uint64_t held_end;
	struct directory *directory; /* the parent directory's, once it was needed */
	struct locality_group *home; /* the worker's that its first blocks came from; NULL: none */
	ext2_ino_t ino;
	ext2_ino_t parent;
	bool is_final;
	bool goes_far; /* prefers the longest run anywhere to a near one of half the length */
	bool is_registered;
	bool began_small;     /* its first blocks were allocated among the small files */
	bool began_in_order;  /* and its worker wrote one directory after the other */
	bool has_begun_group; /* and has not gone on since */
	bool has_slice;       /* which its home counts */
	bool may_have_any;    /* preallocations; false: it has none, and only the thread that uses the file adds any */
};

/*
 * The file's expected size is `blocks`: treats it as if it had been opened with EXT2MB_FILE_FINAL. It should get few
 * extents, wherever they lie.
 */
static inline void file_expect(struct ext2mb_file *file, uint64_t blocks)
{
	file->is_final = true;
	file->goes_far = true;
	file->blocks = blocks;
}

/*
 * Writing has ended, and the file's size is `blocks`: treats it as if it had been opened with EXT2MB_FILE_FINAL, but
 * keeps its preallocations.
 */
static inline void file_ends(struct ext2mb_file *file, uint64_t blocks)
{
	file->is_final = true;
	file->blocks = blocks;
}

/* The file's final size is unknown. */
static inline void file_goes_on(struct ext2mb_file *file)
{
	file->is_final = false;
}

/* The goal for a small file's first blocks, if its locality group has no preallocation. */
struct small_goal {
	uint64_t position;
	bool is_in_group; /* prefer the goal's group to other near groups */
};

/*
 * The choices for a policy's small_file_goal. Ours: near the parent, in the directory's share of the group, or without
 * shares in the flex group. The kernel's: near the inode itself.
 */
struct small_goal file_goal_in_share(const struct ext2mb_file *file);
struct small_goal file_goal_in_flex_group(const struct ext2mb_file *file);
struct small_goal file_goal_near_inode(const struct ext2mb_file *file);

struct normalize_request;
struct normalize_goal;

/*
 * The user's own policy, which is asked first (compare/user_policy.h): the goal block for a request of a large file,
 * and its normalised range. The file's lock is held. ELIBBAD.
 */
struct user_operations {
	errcode_t (*goal)(const struct ext2mb_file *file, const struct normalize_request *request, uint64_t *block,
	                  bool *has_goal);
	errcode_t (*normalize)(const struct ext2mb_file *file, const struct normalize_request *request,
	                       struct normalize_goal *normalized, bool *is_normalized);
};

/* The file is probably complete: gives its preallocations to the files that follow. Locks the file. */
void file_leave_rest(struct ext2mb_worker *worker, struct ext2mb_file *file);

/* Serves a checked request that none of the file's preallocations covers. EXT2MB_ET_NO_SPACE, ENOMEM. */
MUST_CHECK errcode_t file_search(struct ext2mb_worker *worker, struct ext2mb_file *file,
                                 const struct ext2mb_file_request *request, struct preallocation *taken);

/*
 * Finds the locality group for the file while it is small: the worker's, or the first one of its directory. Looks the
 * directory up, if files of one directory share preallocations. The caller must not hold any lock. ENOMEM.
 */
MUST_CHECK errcode_t file_find_pool(struct ext2mb_worker *worker, struct ext2mb_file *file,
                                    struct locality_group **pool);

/* Updates the count of open preallocations, and may_have_any, which is read without the lock. */
static inline void file_count_preallocations(struct ext2mb_file *file, struct stats *stats, uint32_t before,
                                             uint32_t after)
{
	file->may_have_any = after;
	if (after > before)
		stats_add(stats, COUNT_PREALLOCATIONS_OPENED, after - before);
	else if (after < before)
		stats_add(stats, COUNT_PREALLOCATIONS_CLOSED, before - after);
}
