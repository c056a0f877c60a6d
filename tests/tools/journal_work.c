/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal_work DIRECTORY SEED COUNT: so many random steps in a directory that make work for a journal: files that are
 * written, overwritten, renamed and removed, directories with many entries that go away so that their blocks are used
 * for files, contents that begin with the journal's magic number, fsync(2) now and then. Ends without a word, also when
 * there is no room. No step waits for what it has written but by fsync(2).
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 40
#define DIRECTORIES 6
#define MOST_BYTES 30000
#define ENTRIES 90

static uint32_t state;

static uint32_t below(uint32_t end)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % end;
}

static void file_name(char *name, size_t bytes)
{
	snprintf(name, bytes, "file%u", below(FILES));
}

static void write_file(void)
{
	static uint8_t contents[MOST_BYTES];
	size_t bytes = below(2) ? below(MOST_BYTES) : below(3000);
	char name[32];

	file_name(name, sizeof(name));
	memset(contents, (int)below(256), bytes);
	if (below(2))
		for (size_t at = 0; at + 4 <= bytes; at += 1024)
			memcpy(contents + at, "\xc0\x3b\x39\x98", 4);
	int descriptor = open(name, O_WRONLY | O_CREAT | (below(2) ? O_TRUNC : 0), 0644);

	if (descriptor < 0)
		return;
	if (pwrite(descriptor, contents, bytes, (off_t)(below(4) ? 0 : below(100000))) >= 0 && !below(3))
		fsync(descriptor);
	close(descriptor);
}

/* Fills a directory if it is not there, else takes it away. */
static void change_directory(void)
{
	char directory[32], name[300];
	unsigned int number = below(DIRECTORIES);

	snprintf(directory, sizeof(directory), "directory%u", number);
	int is_new = !mkdir(directory, 0755);

	for (unsigned int entry = 0; entry < ENTRIES; entry++) {
		snprintf(name, sizeof(name), "%s/entry-%u-%0*u", directory, entry, 20 + (int)(entry + number) % 180, 0);
		if (!is_new) {
			unlink(name);
			continue;
		}
		int descriptor = open(name, O_WRONLY | O_CREAT, 0644);

		if (descriptor >= 0)
			close(descriptor);
	}
	if (!is_new)
		rmdir(directory);
}

static void step(void)
{
	char name[32], other[32];

	switch (below(8)) {
	case 0:
		change_directory();
		break;
	case 1:
	case 2:
		file_name(name, sizeof(name));
		unlink(name);
		break;
	case 3:
		file_name(name, sizeof(name));
		file_name(other, sizeof(other));
		rename(name, other);
		break;
	default:
		write_file();
	}
}

int main(int argc, char **argv)
{
	if (argc != 4 || chdir(argv[1]))
		errx(2, "usage: journal_work DIRECTORY SEED COUNT");
	/* Never 0, where it would stay. */
	state = (uint32_t)strtoul(argv[2], NULL, 10) * 2654435761u | 1;
	for (unsigned long count = strtoul(argv[3], NULL, 10); count; count--)
		step();
	return 0;
}
