/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the promise of fsync(2).
 *
 *   synced_files --write DIR SEED LOG   writes files and says in LOG how many fsync(2) has answered, until the
 * filesystem is gone synced_files --check DIR SEED LOG   are these there, whole?
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exercise_model.h"

#define MOST_SYNCED ((size_t)200 << 10)

/* The contents of the file with this number. */
static size_t synced_contents(uint64_t seed, unsigned long number, char *bytes)
{
	random_state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (number + 1) * UINT64_C(0xd1b54a32d192ed03);
	size_t count = 1 + below(MOST_SYNCED);

	fill(bytes, count);
	return count;
}

static const char *synced_path(unsigned long number)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/s%lu", root, number);
	return path;
}

static void write_synced(uint64_t seed, FILE *log)
{
	static char bytes[MOST_SYNCED];

	for (unsigned long number = 0;; number++) {
		size_t count = synced_contents(seed, number, bytes);
		int descriptor = open(synced_path(number), O_CREAT | O_EXCL | O_WRONLY, 0644);

		if (descriptor < 0 || write(descriptor, bytes, count) != (ssize_t)count || fsync(descriptor) != 0)
			return;
		fprintf(log, "%lu\n", number + 1);
		fflush(log);
		if (close(descriptor) != 0)
			return;
	}
}

static void check_synced(uint64_t seed, FILE *log)
{
	static char bytes[MOST_SYNCED], found[MOST_SYNCED + 1];
	unsigned long files = 0;

	doing = "what was synced";
	while (fscanf(log, "%lu", &files) == 1)
		continue;
	for (unsigned long number = 0; number < files; number++) {
		size_t count = synced_contents(seed, number, bytes);
		FILE *file = fopen(synced_path(number), "r");

		if (!file)
			fail("%s: %s", synced_path(number), strerror(errno));
		if (fread(found, 1, sizeof(found), file) != count)
			fail("%s: has not %zu bytes", synced_path(number), count);
		compare(synced_path(number), found, bytes, 0, count);
		fclose(file);
	}
	printf("%lu\n", files);
}

int main(int argument_count, char **arguments)
{
	bool writes = argument_count == 5 && strcmp(arguments[1], "--write") == 0;

	if (argument_count != 5)
		fail("arguments are missing");
	root = arguments[2];
	FILE *log = fopen(arguments[4], writes ? "w" : "r");

	if (!log)
		fail("%s: %s", arguments[4], strerror(errno));
	(writes ? write_synced : check_synced)(strtoull(arguments[3], NULL, 10), log);
	fclose(log);
	return EXIT_SUCCESS;
}
