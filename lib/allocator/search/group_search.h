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
	SEARCH_IS_OVER, /* enough has been seen: the best so far will do */
	SEARCH_HAS_TAKEN,
};

#define SEARCH_REMEMBERED 8 /* busy groups for which a criterion waits before it gives way */

/* What a policy that models the kernel's reading of bitmaps has read ahead for this search. */
struct read_ahead {
	uint32_t next;   /* the group where it goes on */
	uint32_t groups; /* that the last step had */
	uint32_t reads;
};

struct free_search;

/* How a group is looked through: what its summary must promise, and what is taken of it or remembered. */
struct group_look {
	/* By the group's summary: a hint, or under its lock the truth. */
	bool (*suits)(const struct free_search *search, uint32_t number);
	/* Under its lock. */
	void (*look)(struct free_search *search, uint32_t number);
};

struct free_search {
	struct ext2mb_worker *worker;
	struct ext2mb *mb;
	uint64_t inode;       /* whose blocks they will be; 0: of no file */
	uint32_t original;    /* clusters that the caller asked for */
	uint32_t wanted;      /* clusters to look for: no fewer than original */
	uint32_t start_group; /* where to begin */
	uint32_t least;       /* clusters: shorter runs are no use */
	bool is_whole;        /* least is what is wanted */
	bool reserves;        /* what is taken is a preallocation */
	bool falls_back;      /* after trimming in vain: to original. Goes by it who models the kernel */
	bool takes_first;     /* the first run that comes is good enough */

	enum criterion criterion;
	const struct group_look *look; /* a sweep's: the criterion's, or one of those by order */
	bool may_go_by_order;          /* BEST_AVAILABLE goes by groups' largest buddies: see scan.c */
	unsigned int order;            /* then: the buddy that the group must have */
	enum search_status status;
	uint32_t found;          /* runs looked at */
	struct group_piece best; /* what was taken in the end; count 0: none */
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
	/* The order above the original length's, as the kernel has it: a request that is no more is not trimmed. */
	return 1u << least < search->original ? 32 - (unsigned int)__builtin_clz(search->original) : least;
}

/* A trimmed length is whole stripes as far as that is not more than was wanted. */
static inline uint32_t search_trim(const struct free_search *search, uint32_t length, uint32_t most)
{
	uint32_t stripe = search->mb->stripe.clusters;

	if (stripe && length % stripe)
		length += stripe - length % stripe;
	return length < most ? length : most;
}

struct search_operations {
	/* Goes through the groups that the index names for the criterion, one of the first three. ENOMEM. */
	errcode_t (*sweep)(struct free_search *search);
	/* Goes through all groups, from the start group on, waiting for each or not. ENOMEM. */
	errcode_t (*sweep_all)(struct free_search *search, bool waits);
	/* Measures the runs of a group that is locked, and takes what is good enough. */
	void (*walk)(struct free_search *search, uint32_t number);
	/* Another thread holds the group: true when it has been waited for and is locked, else it is passed over. */
	bool (*meet_busy)(struct free_search *search, uint32_t number);
	/* Before all criteria, for a request that has neither goal nor stream. ENOMEM. */
	errcode_t (*begin)(struct free_search *search);
	/* Before all criteria, for every request: the user's policy; NULL: none. ENOMEM, ELIBBAD. */
	errcode_t (*user)(struct free_search *search);
	/* After all criteria, whatever came of them; NULL: there is nothing to be done. ENOMEM. */
	errcode_t (*end)(struct free_search *search);
	/* A goal is tried itself before anything else; else only if nothing else is asked for. */
	bool tries_goals;
};

/*
 * Simulated contention: groups that modelled threads hold at that moment count as busy, although their locks are
 * free. A search that would wait for a busy group enters it.
 */
struct contention {
	bool (*is_busy)(void *context, uint32_t group);
	void (*has_taken)(void *context, uint32_t group); /* a search took clusters there; under the group's lock */
	void *context;
	/* The search's criterion looks at the group, suitable or not, before it is locked; NULL: not wanted. */
	void (*considers)(void *context, const struct free_search *search, uint32_t group);
	/* A search has got the group's lock: at once, or it would have had to wait. NULL: not wanted. */
	void (*has_locked)(void *context, uint32_t group);
	/* The kernel's ext4_fs_is_busy(): threads had to wait for locks recently. NULL: they never had to. */
	bool (*is_contended)(void *context);
};

/* Our way through all groups, and our walk. */
MUST_CHECK errcode_t search_sweep_all(struct free_search *search, bool waits);
void search_walk(struct free_search *search, uint32_t number);

/* A walk has looked at a run of the group more. */
void search_count_extents(struct free_search *search, uint32_t count);

/* With the group's lock held: a walk takes the best run, or as much of its beginning as is wanted. */
void search_alloc_best(struct free_search *search);

static inline bool search_goes_on(const struct free_search *search, errcode_t error)
{
	return !error && search->status == SEARCH_GOES_ON;
}

/* A hint: another thread holds the group's lock (simulated runs: is modelled as holding it). */
bool search_looks_busy(const struct free_search *search, uint32_t number);

/* Our meet_busy: the group is remembered, to be waited for before quality is lowered. */
bool search_remember_busy(struct free_search *search, uint32_t number);

/* Begins a criterion: each group is looked through as that asks. */
void search_begin_criterion(struct free_search *search, enum criterion criterion);

/* By the largest buddies, of search->order: */
extern const struct group_look look_for_largest;     /* the first buddy, with what is free around it */
extern const struct group_look look_for_long_enough; /* the first run that has all that is wanted */
extern const struct group_look look_for_longest;     /* the longest run, which is remembered */

/* Whether by its summary (a hint, or under the lock the truth) the group may have what is looked for. */
static inline bool search_suits(const struct free_search *search, uint32_t number)
{
	return search->look->suits(search, number);
}

/*
 * Looks through a group if it suits, and takes from it what is found good enough. A group whose
 * lock another thread holds is waited for or remembered in busy. ENOMEM; a corrupt group is passed over.
 */
MUST_CHECK errcode_t search_group(struct free_search *search, uint32_t number, bool waits);

/*
 * Takes `start` of a group and what follows, up to wanted clusters, if at least `least` can be had; status says whether
 * it did. Waits. ENOMEM.
 */
MUST_CHECK errcode_t search_alloc_at(struct free_search *search, uint32_t number, uint32_t start, uint32_t least);

/* Takes wanted clusters that begin with `start` of a group or, if that is one only, the next free one. As above. */
MUST_CHECK errcode_t search_alloc_after(struct free_search *search, uint32_t number, uint32_t start);
