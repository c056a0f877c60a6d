/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/memory.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cleanup.h"
#include "support/run/control_group.h"

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

uint64_t memory_available(void)
{
	uint64_t kibibytes = 0, left = control_group_least("memory", left_in_group);

	if (!read_number("/proc", "meminfo", "MemAvailable:", &kibibytes))
		return 0;
	return left < kibibytes << 10 ? left : kibibytes << 10;
}
