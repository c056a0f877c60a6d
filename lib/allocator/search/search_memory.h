/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memory of a worker's searches. Only its thread uses it. */
#pragma once

#include <stdint.h>

struct cluster_place {
	uint32_t group;
	uint32_t cluster; /* 0: there was none */
};

/* That no run was long enough is believed for some time, as it takes a look at all groups of an order. */
struct vain_search {
	uint32_t clusters; /* that were wanted */
	uint32_t left;     /* searches for as many or more that are spared; 0: it is to be tried again */
};

/* The last extent that ext2mb_alloc() returned to a worker, and its transaction. */
struct hand_out {
	uint64_t position;
	uint32_t count; /* clusters; 0: nothing, or it has been given back */
	uint32_t tid;
};

struct search_memory {
	uint32_t last_group; /* where it allocated last: where one without a goal begins */
	struct vain_search in_vain;
	struct cluster_place goes_on_at; /* after its last request that had neither goal nor stream */
	struct hand_out last;
};
