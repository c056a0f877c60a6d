/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state of a search, and the search of one group. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "allocator/core/allocator.h"
#include "allocator/core/criterion.h"
#include "allocator/search/search_memory.h"

enum search_status {
	SEARCH_GOES_ON,
	SEARCH_IS_OVER, /* enough runs have been seen: take the best so far */
	SEARCH_HAS_TAKEN,
};

#define SEARCH_REMEMBERED 8 /* busy groups for which a criterion waits before the next one begins */

/* Read-ahead of bitmaps for this search, in policies that model the kernel's. */
struct read_ahead {
	uint32_t next;   /* the group where it continues */
	uint32_t groups; /* groups in the last step */
	uint32_t reads;
};

struct free_search;

/* The way to search a group: the summary that it needs, and the runs to take or remember. */
struct group_look {
	/* Whether the group's summary suits: a hint, or the truth under its lock. */
	bool (*suits)(const struct free_search *search, uint32_t number);
	/* Searches the group, under its lock. */
	void (*look)(struct free_search *search, uint32_t number);
};

struct free_search {
	struct ext2mb_worker *worker;
	struct ext2mb *mb;
	uint64_t inode;       /* the inode that gets the blocks; 0: no file */
	uint32_t original;    /* clusters that the caller asked for */
	uint32_t wanted;      /* clusters to look for: no fewer than original */
	uint32_t start_group; /* where to begin */
	uint32_t least;       /* clusters: shorter runs are useless */
	bool is_whole;        /* least equals wanted */
	bool reserves;        /* the clusters become a preallocation */
	bool falls_back;      /* if no trimmed length fits, search for original; only kernel models use this */
	bool takes_first;     /* the first run found is good enough */

	enum criterion criterion;
	const struct group_look *look; /* the sweep's: the criterion's, or one by order */
	bool may_go_by_order;          /* BEST_AVAILABLE chooses groups by their largest buddies (scan.c) */
	unsigned int order;            /* in that case: the order of the buddy that the group must have */
	enum search_status status;
	uint32_t found;          /* the number of runs examined */
	struct group_piece best; /* the clusters allocated in the end; count 0: none */
	struct read_ahead read_ahead;
	uint32_t busy[SEARCH_REMEMBERED];
	unsigned int busy_count;
};

/* The order of the shortest length that BEST_AVAILABLE may look for. */
static inline unsigned int search_least_order(const struct free_search *search)
{
	unsigned int order = 31 - (unsigned int)__builtin_clz(search->wanted);
	unsigned int most_trimmed = search->mb->policy.limits.most_trimmed_orders;
	unsigned int least = order > most_trimmed ? order - most_trimmed : 0;

	if (1u << least < search->mb->stripe.clusters)
		least = 31 - (unsigned int)__builtin_clz(search->mb->stripe.clusters);
	/*
	 * The order above that of the original length, as in the kernel: a request that is not longer is not trimmed.
	 */
	return 1u << least < search->original ? 32 - (unsigned int)__builtin_clz(search->original) : least;
}

/* Rounds a trimmed length up to whole stripes, but to no more than `most`. */
static inline uint32_t search_trim(const struct free_search *search, uint32_t length, uint32_t most)
{
	uint32_t stripe = search->mb->stripe.clusters;

	if (stripe && length % stripe)
		length += stripe - length % stripe;
	return length < most ? length : most;
}

struct search_operations {
	/* Searches the groups that the index names for the criterion, one of the first three. ENOMEM. */
	errcode_t (*sweep)(struct free_search *search);
	/* Searches all groups, from the start group on; waits: waits for each. ENOMEM. */
	errcode_t (*sweep_all)(struct free_search *search, bool waits);
	/* Measures the runs of a locked group, and takes one that is good enough. */
	void (*walk)(struct free_search *search, uint32_t number);
	/* Another thread holds the group. True: this waited and now holds the lock. False: skip the group. */
	bool (*meet_busy)(struct free_search *search, uint32_t number);
	/* Before all criteria, for a request that has neither goal nor stream. ENOMEM. */
	errcode_t (*begin)(struct free_search *search);
	/* Before all criteria, for every request: the user's policy; NULL: none. ENOMEM, ELIBBAD. */
	errcode_t (*user)(struct free_search *search);
	/* After all criteria, successful or not; NULL: nothing to do. ENOMEM. */
	errcode_t (*end)(struct free_search *search);
	/* True: tries the goal's own clusters before anything else. False: only with EXT2MB_ALLOC_GOAL_ONLY. */
	bool tries_goals;
};

/*
 * Simulated contention: groups that modelled threads hold at that moment count as busy although their locks are free. A
 * search that would have to wait for such a group enters it at once.
 */
struct contention {
	bool (*is_busy)(void *context, uint32_t group);
	void (*has_taken)(void *context, uint32_t group); /* a search took clusters there; under the group's lock */
	void *context;
	/* The search's criterion looks at the group, suitable or not, before it is locked; NULL: not wanted. */
	void (*considers)(void *context, const struct free_search *search, uint32_t group);
	/* A search has taken the group's lock, at once or where a real thread would have waited. NULL: not wanted. */
	void (*has_locked)(void *context, uint32_t group);
	/* The kernel's ext4_fs_is_busy(): threads had to wait for locks recently. NULL: they never had to. */
	bool (*is_contended)(void *context);
};

/* ext2mb's own sweep_all and walk. */
MUST_CHECK errcode_t search_sweep_all(struct free_search *search, bool waits);
void search_walk(struct free_search *search, uint32_t number);

/* Counts further runs that a walk has examined. */
void search_count_extents(struct free_search *search, uint32_t count);

/* With the group's lock held: a walk takes the best run, or as much of its beginning as is wanted. */
void search_alloc_best(struct free_search *search);

static inline bool search_goes_on(const struct free_search *search, errcode_t error)
{
	return !error && search->status == SEARCH_GOES_ON;
}

/* A hint: another thread holds the group's lock (simulated runs: is modelled as holding it). */
bool search_looks_busy(const struct free_search *search, uint32_t number);

/* ext2mb's own meet_busy: remembers the group. The search waits for it before it goes on to the next criterion. */
bool search_remember_busy(struct free_search *search, uint32_t number);

/* Begins a criterion, and sets its way to search a group. */
void search_begin_criterion(struct free_search *search, enum criterion criterion);

/* Searches by the largest buddy, of search->order: */
extern const struct group_look look_for_largest;     /* the first buddy, with the free clusters around it */
extern const struct group_look look_for_long_enough; /* the first run that has all wanted clusters */
extern const struct group_look look_for_longest;     /* the longest run, which is remembered */

/* Whether the group's summary (a hint, or the truth under the lock) allows a suitable run. */
static inline bool search_suits(const struct free_search *search, uint32_t number)
{
	return search->look->suits(search, number);
}

/*
 * Searches a group if it suits, and takes a run that is good enough. If another thread holds the lock, waits for it or
 * remembers the group in busy. ENOMEM; skips a corrupt group.
 */
MUST_CHECK errcode_t search_group(struct free_search *search, uint32_t number, bool waits);

/*
 * Takes free clusters from `start` of a group on, up to `wanted`, if there are at least `least`; status says whether it
 * did. Waits. ENOMEM.
 */
MUST_CHECK errcode_t search_alloc_at(struct free_search *search, uint32_t number, uint32_t start, uint32_t least);

/* Takes `wanted` clusters from `start` of a group on; if only one is wanted, the next free one. As above. */
MUST_CHECK errcode_t search_alloc_after(struct free_search *search, uint32_t number, uint32_t start);
