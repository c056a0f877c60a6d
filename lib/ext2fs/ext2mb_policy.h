/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An allocation policy of your own, for e2allocsim(8) and debugmb(8): a shared library with the functions below.
 *
 *	cc -shared -fPIC -o mine.so mine.c
 *	e2allocsim append --policy=./mine.so --compare=policies disk.img 20G
 *
 * This interface is experimental, and no part of libext2mb's: it may change with each release. EXT2MB_POLICY_VERSION
 * changes with it, and a library that was compiled with another version is refused.
 *
 * Each function is called before the code of Linux 6.17 (`--policy=series`, with --add and --drop as given), and may
 * leave the decision to that: EXT2MB_POLICY_PASS. The allocator stays in charge. It takes only free blocks, and when
 * your policy has no further group it goes on with its own criteria, so that no request fails while blocks are free.
 * Impossible answers are refused with a message that names the library and the function: a goal beyond the
 * filesystem, a group beyond the last, a length of 0 or beyond a group. The run fails, and the image stays as it was.
 * A library that crashes takes the program with it.
 *
 * Units: everything is in blocks of the filesystem, also with bigalloc; then positions and lengths are whole
 * clusters.
 *
 * Threads: with --threads=N up to N threads call the functions at the same time, so shared data must be atomic or
 * locked. ext2mb_policy_goal() and ext2mb_policy_normalize() are called with the file's lock,
 * ext2mb_policy_next_group() with the lock of the requester (a file, or a locality group), ext2mb_policy_give_up()
 * also with the lock of the group that is searched. They must not block, and may call no function of the allocator
 * but view->read_group(), which takes no lock. ext2mb_policy_open() and ext2mb_policy_close() are called by one
 * thread, with no lock.
 */
#ifndef EXT2FS_EXT2MB_POLICY_H
#define EXT2FS_EXT2MB_POLICY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EXT2MB_POLICY_VERSION 1

/* Every library has this once. */
#define EXT2MB_POLICY_LIBRARY const unsigned int ext2mb_policy_version = EXT2MB_POLICY_VERSION

extern const unsigned int ext2mb_policy_version;

/* Values that functions return. */
#define EXT2MB_POLICY_PASS 0 /* decide as Linux does */
#define EXT2MB_POLICY_DONE 1 /* the answer is in the pointer's target */

/* Values that ext2mb_policy_give_up() returns, too. */
#define EXT2MB_POLICY_GO_ON 1 /* look further */
#define EXT2MB_POLICY_TAKE 2  /* take this run */
#define EXT2MB_POLICY_BEST 3  /* give up: take the best run so far */

/* Constant as long as the allocator is open. */
struct ext2mb_policy_filesystem {
	uint64_t first_block; /* of group 0: 1 with blocks of 1 KiB, else 0 */
	uint64_t end_block;
	uint32_t block_bytes;
	uint32_t cluster_blocks; /* 1 but with bigalloc */
	uint32_t group_blocks;   /* the last group may have fewer */
	uint32_t groups;
	uint32_t flex_groups;   /* groups in a flex group; 1 without flex_bg */
	uint32_t stripe_blocks; /* 0: no stripes */
};

/* A group's summary without its lock: a hint. For a group whose bitmap has not been read it is the best case. */
struct ext2mb_policy_group {
	uint32_t free_blocks;
	uint32_t fragments;      /* free extents */
	uint32_t longest_blocks; /* the longest free extent at most */
	int32_t largest_order;   /* of the buddy bitmap, in clusters; -1: the group is full */
	int32_t is_loaded;       /* its bitmap has been read */
};

struct ext2mb_policy_view {
	const struct ext2mb_policy_filesystem *filesystem;
	/* For a group number that does not exist, all members are 0. Any thread. */
	void (*read_group)(const struct ext2mb_policy_view *view, uint32_t number, struct ext2mb_policy_group *group);
	void *allocator;
};

/* A file's request. */
struct ext2mb_policy_file {
	uint64_t inode, parent;
	uint64_t start, count; /* logical; count 0: a small file, which asks where its locality group's preallocation
	                        * should begin */
	uint64_t whole_count;  /* the size of the whole request, if this is a part of one; else 0 or count */
	uint64_t file_blocks;  /* its size */
	uint64_t hole_start;   /* logical: the range around the request that is neither mapped nor preallocated */
	uint64_t hole_end;
	uint64_t left_physical;  /* the block after the one that hole_start - 1 is mapped to; 0: no neighbour */
	uint64_t right_physical; /* the block that hole_end is mapped to; 0: no neighbour */
	uint64_t free_blocks;    /* of the whole filesystem, as of some time ago */
	int32_t is_unwritten;    /* from fallocate(2) */
	int32_t is_final;        /* file_blocks is its final size */
};

/* A search for a free extent. */
struct ext2mb_policy_search {
	uint64_t inode; /* of the file; 0: none */
	uint32_t wanted_blocks;
	uint32_t asked_blocks;  /* needed; anything more is a preallocation */
	uint32_t start_group;   /* that of the goal */
	uint32_t last_group;    /* searched last; UINT32_MAX: none yet */
	uint32_t groups_looked; /* in this search */
	uint32_t runs_seen;     /* free extents in them */
	uint32_t best_blocks;   /* length of the best extent: the shortest that is long enough, else the longest; 0:
	                         * none */
};

struct ext2mb_policy_run {
	uint64_t block;
	uint32_t group;
	uint32_t blocks;
};

/*
 * Sets the goal of a file's request: *block. The free blocks from there on are taken, up to the normalised length, if
 * they hold the request; otherwise the search begins in the goal's group.
 */
int ext2mb_policy_goal(void *state, const struct ext2mb_policy_view *view, const struct ext2mb_policy_file *file,
                       uint64_t *block);

/*
 * Sets how much to allocate: *count logical blocks from *start on. They contain the request's start, lie in the hole,
 * and are at most a group. Blocks beyond the request are preallocated to the file until it is closed.
 */
int ext2mb_policy_normalize(void *state, const struct ext2mb_policy_view *view, const struct ext2mb_policy_file *file,
                            uint64_t *start, uint64_t *count);

/*
 * Sets the next group to search: *group. Called repeatedly until blocks are taken or it passes: then the best free
 * extent is taken, or Linux's criteria go on if there was none.
 */
int ext2mb_policy_next_group(void *state, const struct ext2mb_policy_view *view,
                             const struct ext2mb_policy_search *search, uint32_t *group);

/*
 * Called for each free extent of a searched group, in the order of blocks. An extent that is longer than wanted is
 * taken from its beginning. EXT2MB_POLICY_PASS decides by mb_max_to_scan and mb_min_to_scan.
 */
int ext2mb_policy_give_up(void *state, const struct ext2mb_policy_view *view, const struct ext2mb_policy_search *search,
                          const struct ext2mb_policy_run *run);

/* Both functions may be left out, or neither. With an errno value the run fails. view stays valid until close. */
int ext2mb_policy_open(const struct ext2mb_policy_view *view, void **state);
void ext2mb_policy_close(void *state);

#ifdef __cplusplus
}
#endif

#endif
