/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shuffle_names DIR: gives all names below DIR another place in the order in which tmpfs lists them, which is that
 * of their making, by renaming each away and back. The files themselves, their holes and times stay as they are.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "support/cleanup.h"

static const char aside[] = ".shuffle_names";

__attribute__((noreturn)) static void fail(const char *name)
{
	fprintf(stderr, "shuffle_names: %s: %s\n", name, strerror(errno));
	exit(1);
}

/* The directory's names in the order of the host's list; the caller frees them. */
static char **read_names(int directory, size_t *count)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	SCOPE_CLOSEDIR DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	char **names = NULL;

	if (!stream)
		fail("cannot list");
	*count = 0;
	for (struct dirent *entry; (entry = readdir(stream));) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		names = realloc(names, (*count + 1) * sizeof(*names));
		if (!names || !(names[(*count)++] = strdup(entry->d_name)))
			fail(entry->d_name);
	}
	return names;
}

static void shuffle(int directory)
{
	size_t count;
	char **names = read_names(directory, &count);
	size_t step = count / 3 + 1;
	struct stat before;

	if (fstat(directory, &before))
		fail("cannot read times");
	/* First the names a third of the list apart, then their neighbours: far from both the old order and its
	 * reverse. */
	for (size_t start = 0; start < step; start++) {
		for (size_t i = start; i < count; i += step) {
			if (renameat(directory, names[i], directory, aside) ||
			    renameat(directory, aside, directory, names[i]))
				fail(names[i]);
			int below = openat(directory, names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			if (below >= 0) {
				shuffle(below);
				close(below);
			}
			free(names[i]);
		}
	}
	free(names);
	if (futimens(directory, (struct timespec[2]){ before.st_atim, before.st_mtim }))
		fail("cannot set times");
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: shuffle_names DIR\n", stderr);
		return 2;
	}
	SCOPE_CLOSE int directory = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (directory < 0)
		fail(argv[1]);
	shuffle(directory);
	return 0;
}
