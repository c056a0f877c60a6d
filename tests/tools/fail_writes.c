/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * To be preloaded: a disk that fails. The write to the file FAIL_WRITES_TO with the number FAIL_WRITES_FROM, from 1
 * on, and all later ones fail with EIO, and so does each fsync(2) after it. FAIL_WRITES_COUNT: a file that gets the
 * number of writes.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned long writes;

static unsigned long first_to_fail(void)
{
	const char *text = getenv("FAIL_WRITES_FROM");

	return text ? strtoul(text, NULL, 10) : 0;
}

static bool is_meant(int descriptor)
{
	const char *path = getenv("FAIL_WRITES_TO");
	struct stat file, open_file;

	return path && stat(path, &file) == 0 && fstat(descriptor, &open_file) == 0 &&
	       file.st_ino == open_file.st_ino && file.st_dev == open_file.st_dev;
}

static void __attribute__((destructor)) tell_count(void)
{
	const char *path = getenv("FAIL_WRITES_COUNT");
	FILE *file = path && writes ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "%lu\n", writes);
	fclose(file);
}

static bool fails(int descriptor, bool is_write)
{
	unsigned long first = first_to_fail();

	if (!is_meant(descriptor))
		return false;
	unsigned long number = is_write ? __atomic_add_fetch(&writes, 1, __ATOMIC_RELAXED) : writes;

	if (!first || number < first)
		return false;
	errno = EIO;
	return true;
}

#define EXPORTED __attribute__((visibility("default")))
#define NEXT(function) ((__typeof__(&(function)))dlsym(RTLD_NEXT, #function))

EXPORTED ssize_t write(int descriptor, const void *bytes, size_t count)
{
	return fails(descriptor, true) ? -1 : NEXT(write)(descriptor, bytes, count);
}

EXPORTED ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset)
{
	return fails(descriptor, true) ? -1 : NEXT(pwrite)(descriptor, bytes, count, offset);
}

EXPORTED ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset)
{
	return fails(descriptor, true) ? -1 : NEXT(pwrite64)(descriptor, bytes, count, offset);
}

EXPORTED int fsync(int descriptor)
{
	return fails(descriptor, false) ? -1 : NEXT(fsync)(descriptor);
}

EXPORTED int fdatasync(int descriptor)
{
	return fails(descriptor, false) ? -1 : NEXT(fdatasync)(descriptor);
}
