/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/memory.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cleanup.h"

#define GROUPS "/sys/fs/cgroup"

/* Reads the number of the first line that begins with the word. Returns false if there is none. */
static bool read_number(const char *directory, const char *name, const char *word, uint64_t *number)
{
	SCOPE_FREE char *path = NULL;
	char line[256];

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return (path = NULL);
	SCOPE_FCLOSE FILE *file = fopen(path, "re");

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, word, strlen(word)) == 0)
			return sscanf(line + strlen(word), "%" SCNu64, number) == 1;
	return false;
}

/* How much one group leaves; without a limit it has "max". Its page cache counts as used, but is reclaimed when memory
 * is needed. */
static uint64_t left_in_group(const char *directory, bool is_first_version)
{
	uint64_t limit, used, cached = 0;

	if (!read_number(directory, is_first_version ? "memory.limit_in_bytes" : "memory.max", "", &limit) ||
	    !read_number(directory, is_first_version ? "memory.usage_in_bytes" : "memory.current", "", &used))
		return UINT64_MAX;
	if (read_number(directory, "memory.stat", is_first_version ? "total_inactive_file " : "inactive_file ",
	                &cached))
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
	uint64_t kibibytes = 0, left = from_groups();

	if (!read_number("/proc", "meminfo", "MemAvailable:", &kibibytes))
		return 0;
	return left < kibibytes << 10 ? left : kibibytes << 10;
}
