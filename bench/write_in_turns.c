/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes files of DIRECTORY in turns, 4 KiB at a time, as a program with many open files does. In C, so that its own
 * time is small beside that of the mount that it measures.
 *
 *   write_in_turns FILES BYTES DIRECTORY
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES 4096
#define MOST_FILES 1000

static void fail(const char *name)
{
	fprintf(stderr, "write_in_turns: %s: %s\n", name, strerror(errno));
	exit(1);
}

int main(int argument_count, char **arguments)
{
	static char block[BLOCK_BYTES];
	static int descriptors[MOST_FILES];
	unsigned long files = argument_count == 4 ? strtoul(arguments[1], NULL, 10) : 0;
	off_t bytes = argument_count == 4 ? strtoll(arguments[2], NULL, 10) : 0;
	char name[32];

	if (!files || files > MOST_FILES || bytes <= 0 || bytes % BLOCK_BYTES) {
		fprintf(stderr, "usage: write_in_turns FILES BYTES DIRECTORY\n");
		return 2;
	}
	memset(block, 'x', sizeof(block));
	if (chdir(arguments[3]))
		fail(arguments[3]);
	for (unsigned long file = 0; file < files; file++) {
		snprintf(name, sizeof(name), "file%lu", file);
		descriptors[file] = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
		if (descriptors[file] < 0)
			fail(name);
	}
	for (off_t offset = 0; offset < bytes; offset += BLOCK_BYTES)
		for (unsigned long file = 0; file < files; file++)
			if (pwrite(descriptors[file], block, sizeof(block), offset) != (ssize_t)sizeof(block))
				fail("writing");
	for (unsigned long file = 0; file < files; file++)
		if (close(descriptors[file]))
			fail("closing");
	return 0;
}
