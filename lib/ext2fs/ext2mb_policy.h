/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An allocation policy of your own, for e2allocsim(8) and debugmb(8): a shared library with the functions below.
 *
 *	cc -shared -fPIC -o mine.so mine.c
 *	e2allocsim append --policy=./mine.so --compare=policies disk.img 20G
 *
 * Experimental, and no part of libext2mb's interface: it may change with each release. EXT2MB_POLICY_VERSION changes
 * with it, and a library that was compiled with another one is refused.
 *
 * Each function is asked before what Linux 6.17 would do (`--policy=series`, with --add and --drop as they are given),
 * and may leave the question to that: EXT2MB_POLICY_PASS. The allocator stays in charge. It takes only what is free,
 * and when your policy has no further group it goes on with its own criteria, so that nothing is refused while blocks
 * are free. What cannot be is refused with a message that names the library and the function, the run fails, and the
 * image stays as it was: a goal beyond the filesystem, a group beyond the last, a length of 0 or beyond a group.
 * A library that crashes takes the program with it.
 *
 * Units: all is in blocks of the filesystem, also with bigalloc; then places and lengths are whole clusters.
 *
 * Threads: with --threads=N up to N threads call the functions at the same time, so what they share must be atomic or
 * locked. ext2mb_policy_goal() and ext2mb_policy_normalize() are called with the file's lock,
 * ext2mb_policy_next_group() with the lock of what asks (a file, or a window of small files), ext2mb_policy_give_up()
 * also with the lock of the group that is looked into. They must not block, and call nothing of the allocator but
 * view->read_group(), which takes no lock. ext2mb_policy_open() and ext2mb_policy_close() are called by one thread,
 * with no lock.
 */
#ifndef EXT2FS_EXT2MB_POLICY_H
#define EXT2FS_EXT2MB_POLICY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EXT2MB_POLICY_VERSION 1

/* Once in each library. */
#define EXT2MB_POLICY_LIBRARY const unsigned int ext2mb_policy_version = EXT2MB_POLICY_VERSION

extern const unsigned int ext2mb_policy_version;

/* What functions return. */
#define EXT2MB_POLICY_PASS 0 /* as Linux would */
#define EXT2MB_POLICY_DONE 1 /* the answer is where the pointer leads */

/* And ext2mb_policy_give_up(). */
#define EXT2MB_POLICY_GO_ON 1 /* look further */
#define EXT2MB_POLICY_TAKE 2  /* take this run */
#define EXT2MB_POLICY_BEST 3  /* give up: take the best run so far */

/* It stays the same as long as the allocator is open. */
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

/* What is known of a group without its lock: a hint. Of a group that nobody has looked into yet it is the best case. */
struct ext2mb_policy_group {
	uint32_t free_blocks;
	uint32_t fragments;      /* runs */
	uint32_t longest_blocks; /* no run is longer */
	int32_t largest_order;   /* of its buddies, in clusters; -1: it is full */
	int32_t is_loaded;       /* its bitmap has been read */
};

struct ext2mb_policy_view {
	const struct ext2mb_policy_filesystem *filesystem;
	/* All is 0 of a group that there is not. Any thread. */
	void (*read_group)(const struct ext2mb_policy_view *view, uint32_t number, struct ext2mb_policy_group *group);
	void *allocator;
};

/* What a file asks for. */
struct ext2mb_policy_file {
	uint64_t inode, parent;
	uint64_t start, count; /* logical; count 0: it is small, and asks where its window is to begin */
	uint64_t whole_count;  /* of all that it asks for at once, if this is a part of it; else 0 or count */
	uint64_t file_blocks;  /* its size */
	uint64_t hole_start;   /* logical: what is neither mapped nor reserved around the request */
	uint64_t hole_end;
	uint64_t left_physical;  /* the block after the one that hole_start - 1 is mapped to; 0: no neighbour */
	uint64_t right_physical; /* the block that hole_end is mapped to; 0: no neighbour */
	uint64_t free_blocks;    /* of the whole filesystem, as of some time ago */
	int32_t is_unwritten;    /* from fallocate(2) */
	int32_t is_final;        /* file_blocks is where it will end */
};

/* A search for a run. */
struct ext2mb_policy_search {
	uint64_t inode; /* whose it is; 0: of no file */
	uint32_t wanted_blocks;
	uint32_t asked_blocks;  /* so many are needed; what is more is a preallocation */
	uint32_t start_group;   /* that of the goal */
	uint32_t last_group;    /* that was looked into; UINT32_MAX: none yet */
	uint32_t groups_looked; /* into, in this search */
	uint32_t runs_seen;     /* in them */
	uint32_t best_blocks;   /* of the best one: the shortest that is long enough, else the longest; 0: none */
};

struct ext2mb_policy_run {
	uint64_t block;
	uint32_t group;
	uint32_t blocks;
};

/*
 * Where the file's request should be: *block. What is free from there on is taken, up to the normalised length, if it
 * holds the request; else its group is where the search begins.
 */
int ext2mb_policy_goal(void *state, const struct ext2mb_policy_view *view, const struct ext2mb_policy_file *file,
                       uint64_t *block);

/*
 * How much to reserve: *count logical blocks from *start on. They contain the request's start, lie in the hole, and are
 * at most a group's. What is more than the request is kept for the file until it is closed.
 */
int ext2mb_policy_normalize(void *state, const struct ext2mb_policy_view *view, const struct ext2mb_policy_file *file,
                            uint64_t *start, uint64_t *count);

/*
 * The next group to look into: *group. Asked again and again, until something is taken or it passes: then the best run
 * is taken, or Linux's criteria go on if there was none.
 */
int ext2mb_policy_next_group(void *state, const struct ext2mb_policy_view *view,
                             const struct ext2mb_policy_search *search, uint32_t *group);

/*
 * Asked for each free run of a group that is looked into, in the order of blocks. A run that is longer than wanted is
 * taken from its beginning. EXT2MB_POLICY_PASS goes by mb_max_to_scan and mb_min_to_scan.
 */
int ext2mb_policy_give_up(void *state, const struct ext2mb_policy_view *view, const struct ext2mb_policy_search *search,
                          const struct ext2mb_policy_run *run);

/* Both or neither may be left out. An errno value, and the run fails; view stays valid until close. */
int ext2mb_policy_open(const struct ext2mb_policy_view *view, void **state);
void ext2mb_policy_close(void *state);

#ifdef __cplusplus
}
#endif

#endif
