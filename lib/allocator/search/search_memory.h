/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* State that a worker keeps between searches. Only its thread uses it. */
#pragma once

#include <stdint.h>

struct cluster_place {
	uint32_t group;
	uint32_t cluster; /* 0: there was none */
};

/*
 * The last search found no run that was long enough. To find out takes a look at all groups of an order, so the next
 * searches assume it is still so.
 */
struct vain_search {
	uint32_t clusters; /* the length that was wanted */
	uint32_t left;     /* searches for this length or more still to be skipped; 0: try again */
};

/* The last extent that ext2mb_alloc() returned to a worker, and its transaction. */
struct hand_out {
	uint64_t position;
	uint32_t count; /* clusters; 0: nothing, or it has been given back */
	uint32_t tid;
};

struct search_memory {
	uint32_t last_group; /* the group of the last allocation: a search without a goal begins there */
	struct vain_search in_vain;
	struct cluster_place goes_on_at; /* the cluster after its last request that had neither goal nor stream */
	struct hand_out last;
};
