/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/processors.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/cleanup.h"
#include "support/run/control_group.h"

/* More than any kernel is configured for. */
#define MOST_PROCESSORS (1 << 20)

/* The kernel refuses a set that is smaller than its own, whose size it does not tell. Returns 0 if it tells nothing. */
static unsigned int count_allowed(void)
{
	for (int count = CPU_SETSIZE; count <= MOST_PROCESSORS; count *= 2) {
		size_t bytes = CPU_ALLOC_SIZE(count);
		SCOPE_FREE cpu_set_t *set = calloc(1, bytes);

		if (set && sched_getaffinity(0, bytes, set) == 0)
			return (unsigned int)CPU_COUNT_S(bytes, set);
		if (!set || errno != EINVAL)
			break;
	}
	return 0;
}

/* In percent of one processor. */
static uint64_t read_quota(const char *directory, bool is_first_version)
{
	SCOPE_FREE char *quota_path = NULL, *period_path = NULL;
	uint64_t quota, period;

	if (asprintf(&quota_path, "%s/%s", directory, is_first_version ? "cpu.cfs_quota_us" : "cpu.max") < 0 ||
	    asprintf(&period_path, "%s/cpu.cfs_period_us", directory) < 0)
		return UINT64_MAX;
	SCOPE_FCLOSE FILE *file = fopen(quota_path, "re"), *period_file = fopen(period_path, "re");
	/* Without a limit the first number is "max", or -1. */
	bool is_known = file && fscanf(file, "%" SCNu64, &quota) == 1 && quota <= INT64_MAX &&
	                fscanf(is_first_version && period_file ? period_file : file, "%" SCNu64, &period) == 1 &&
	                period;

	return is_known ? quota * 100 / period : UINT64_MAX;
}

void processors_count(struct processors *processors)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int allowed = count_allowed();

	processors->online = online < 1 ? 1 : (unsigned int)online;
	processors->allowed = allowed && allowed < processors->online ? allowed : processors->online;
	processors->quota_percent = control_group_least("cpu", read_quota);
}

unsigned int processors_usable(const struct processors *processors)
{
	uint64_t quota = processors->quota_percent / 100 + (processors->quota_percent % 100 > 0);

	return quota >= processors->allowed ? processors->allowed : quota ? (unsigned int)quota : 1;
}
