/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/control_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cleanup.h"

#define GROUPS "/sys/fs/cgroup"

/* The least of a group and of those above it; each loses its name in the path while it is left. */
static uint64_t least_upwards(const char *controller, char *group, bool is_first_version, control_group_reader *read)
{
	uint64_t least = UINT64_MAX;

	for (;;) {
		SCOPE_FREE char *directory = NULL;

		if (asprintf(&directory, GROUPS "%s%s%s", is_first_version ? "/" : "",
		             is_first_version ? controller : "", group) < 0)
			directory = NULL;
		uint64_t allowed = directory ? read(directory, is_first_version) : UINT64_MAX;
		char *slash = strrchr(group, '/');

		least = allowed < least ? allowed : least;
		if (!slash)
			return least;
		*slash = '\0';
	}
}

/* Is the controller one of "cpu,cpuacct"? */
static bool is_listed(const char *controller, char *controllers)
{
	char *word;

	while ((word = strsep(&controllers, ",")))
		if (strcmp(word, controller) == 0)
			return true;
	return false;
}

uint64_t control_group_least(const char *controller, control_group_reader *read)
{
	SCOPE_FCLOSE FILE *file = fopen("/proc/self/cgroup", "re");
	uint64_t least = UINT64_MAX;
	char line[4096];

	while (file && fgets(line, sizeof(line), file)) {
		/* "4:cpu,cpuacct:/user.slice" in the first version, "0::/user.slice" in the second one. */
		char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!group)
			continue;
		controllers++;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		bool is_first_version = *controllers;

		if (is_first_version && !is_listed(controller, controllers))
			continue;
		uint64_t allowed = least_upwards(controller, group, is_first_version, read);

		least = allowed < least ? allowed : least;
	}
	return least;
}
