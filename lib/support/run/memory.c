/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/memory.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cleanup.h"

#define GROUPS "/sys/fs/cgroup"

static uint64_t from_meminfo(void)
{
	SCOPE_FCLOSE FILE *file = fopen("/proc/meminfo", "re");
	char line[256];
	uint64_t kibibytes;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kibibytes) == 1)
			return kibibytes << 10;
	return 0;
}

/* Returns false if there is no number; a group without a limit has "max". */
static bool read_number(const char *directory, const char *name, uint64_t *number)
{
	SCOPE_FREE char *path = NULL;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return (path = NULL);
	SCOPE_FCLOSE FILE *file = fopen(path, "re");

	return file && fscanf(file, "%" SCNu64, number) == 1;
}

/* How much one group leaves. Its page cache counts as used, but is reclaimed when memory is needed. */
static uint64_t left_in_group(const char *directory, bool is_first_version)
{
	uint64_t limit, used, cached = 0;
	SCOPE_FREE char *path = NULL;
	char line[256];

	if (!read_number(directory, is_first_version ? "memory.limit_in_bytes" : "memory.max", &limit) ||
	    !read_number(directory, is_first_version ? "memory.usage_in_bytes" : "memory.current", &used))
		return UINT64_MAX;
	if (asprintf(&path, "%s/memory.stat", directory) < 0)
		path = NULL;
	SCOPE_FCLOSE FILE *file = path ? fopen(path, "re") : NULL;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, is_first_version ? "total_inactive_file %" SCNu64 : "inactive_file %" SCNu64,
		           &cached) == 1)
			break;
	used -= cached < used ? cached : used;
	return limit > used ? limit - used : 0;
}

/* How much a group and its ancestors leave. */
static uint64_t left_in_groups(const char *root, char *group, bool is_first_version)
{
	uint64_t least = UINT64_MAX;

	for (;;) {
		SCOPE_FREE char *directory = NULL;

		if (asprintf(&directory, "%s%s", root, group) < 0)
			directory = NULL;
		uint64_t left = directory ? left_in_group(directory, is_first_version) : UINT64_MAX;
		char *slash = strrchr(group, '/');

		least = left < least ? left : least;
		if (!slash)
			return least;
		*slash = '\0';
	}
}

static uint64_t from_groups(void)
{
	SCOPE_FCLOSE FILE *file = fopen("/proc/self/cgroup", "re");
	uint64_t least = UINT64_MAX;
	char line[4096];

	while (file && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!group)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		bool is_first_version = controllers[1];

		if (is_first_version && strcmp(controllers + 1, "memory"))
			continue;
		uint64_t left = left_in_groups(is_first_version ? GROUPS "/memory" : GROUPS, group, is_first_version);

		least = left < least ? left : least;
	}
	return least;
}

uint64_t memory_available(void)
{
	uint64_t available = from_meminfo(), left = from_groups();

	return left < available ? left : available;
}
