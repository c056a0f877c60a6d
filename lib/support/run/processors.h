/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How many processors this process may use. */
#pragma once

#include <stdint.h>

struct processors {
	unsigned int online;    /* at least 1 */
	unsigned int allowed;   /* of these, by the affinity of the calling thread (sched_setaffinity(2)); at least 1 */
	uint64_t quota_percent; /* of one processor: what our control group and those above it allow; UINT64_MAX: all */
};

void processors_count(struct processors *processors);

/* Returns how many threads can run at once, at least 1. A part of a processor in the quota counts as one. */
unsigned int processors_usable(const struct processors *processors);
