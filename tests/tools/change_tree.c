/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * change_tree DIR --seed=N [--percent=N] [--xattr-bytes=N]: changes about so many of the files of a tree (20), in
 * place: contents, sizes, metadata, types, names, hard links; the same for the same tree and arguments. A new xattr has
 * at most so many bytes (3000). What the caller may not do is left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define FIRST_SECOND 1500000000
#define SECONDS 200000000u

static uint64_t random_state;
static char **paths;
static size_t path_count, path_room;
static unsigned int made;
static uint64_t most_xattr_bytes = 3000;

/* splitmix64 */
static uint64_t random_below(uint64_t limit)
{
	uint64_t value = random_state += 0x9e3779b97f4a7c15;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
	value = (value ^ value >> 27) * 0x94d049bb133111eb;
	return (value ^ value >> 31) % limit;
}

static void fail(const char *what)
{
	fprintf(stderr, "change_tree: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int note_path(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	if (!place->level)
		return 0;
	if (path_count == path_room) {
		path_room = path_room ? 2 * path_room : 256;
		paths = realloc(paths, path_room * sizeof(*paths));
	}
	if (!paths || !(paths[path_count++] = strdup(path)))
		fail("memory");
	return 0;
}

static int compare(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

static void remove_all(const char *path)
{
	if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) && errno != ENOENT)
		fail(path);
}

/* The time does not depend on when this runs. */
static void set_time(const char *path)
{
	const struct timespec time = { FIRST_SECOND + (time_t)random_below(SECONDS), (long)random_below(1000000000) };
	const struct timespec both[] = { time, time };

	utimensat(AT_FDCWD, path, both, AT_SYMLINK_NOFOLLOW);
}

static void write_file(const char *path, int flags)
{
	uint8_t bytes[4096];
	int descriptor = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | flags, 0644);
	uint64_t blocks = random_below(4) ? random_below(3) : random_below(200);
	size_t last = random_below(sizeof(bytes));

	if (descriptor < 0)
		return;
	if (!random_below(4))
		lseek(descriptor, (off_t)random_below(1 << 20), SEEK_CUR);
	for (uint64_t block = 0; block <= blocks; block++) {
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)(random_state >> (i % 40)) ^ (uint8_t)(i + block);
		random_below(1);
		if (write(descriptor, bytes, block < blocks ? sizeof(bytes) : last) < 0)
			fail(path);
	}
	close(descriptor);
}

static void set_xattr(const char *path)
{
	char name[32], value[4096];
	size_t bytes = random_below(3) ? random_below(60) : random_below(most_xattr_bytes);

	snprintf(name, sizeof(name), "%s.x%d", random_below(2) ? "user" : "trusted", (int)random_below(5));
	memset(value, 'a' + (int)random_below(26), sizeof(value));
	if (random_below(4))
		lsetxattr(path, name, value, bytes, 0);
	else
		lremovexattr(path, name);
}

/* A new file of any type in the place of path, which is free. */
static void make_any(const char *path)
{
	char target[300];

	memset(target, 't', sizeof(target));
	target[random_below(sizeof(target) - 1) + 1] = '\0';
	switch (random_below(6)) {
	case 0:
		if (symlink(target, path))
			fail(path);
		break;
	case 1:
		if (mkdir(path, 0755))
			fail(path);
		break;
	case 2:
		if (mkfifo(path, 0600))
			fail(path);
		break;
	case 3:
		/* Without the right to make devices nothing is there. */
		if (mknod(path, S_IFCHR | 0600, 0x0103))
			return;
		break;
	default:
		write_file(path, O_CREAT | O_EXCL);
	}
	set_time(path);
}

/* Beside path, or within it if it is a directory. */
static void make_beside(const char *path)
{
	struct stat status;
	char *name;
	int bytes = lstat(path, &status)    ? 0 :
	            S_ISDIR(status.st_mode) ? (int)strlen(path) :
	                                      (int)(strrchr(path, '/') - path);

	if (!bytes || asprintf(&name, "%.*s/new%u", bytes, path, made++) < 0)
		return;
	if (random_below(4)) {
		make_any(name);
	} else {
		const char *other = paths[random_below(path_count)];

		/* Directories cannot be linked to. */
		if (link(other, name) && errno != EPERM && errno != ENOENT && errno != ENOTDIR && errno != EMLINK)
			fail(name);
	}
	free(name);
}

static void change(const char *path)
{
	struct stat status;

	if (lstat(path, &status))
		return;
	switch (random_below(10)) {
	case 0:
		remove_all(path);
		return;
	case 1:
		if (!S_ISDIR(status.st_mode) || !random_below(4)) {
			remove_all(path);
			make_any(path);
		}
		return;
	case 2:
	case 3:
		if (S_ISREG(status.st_mode))
			write_file(path, random_below(2) ? O_TRUNC : 0);
		break;
	case 4:
		if (!S_ISLNK(status.st_mode))
			chmod(path, (mode_t)random_below(01000) | (S_ISDIR(status.st_mode) ? 0700 : 0400));
		break;
	case 5:
		if (lchown(path, (uid_t)random_below(70000), (gid_t)random_below(70000)) && errno != EPERM)
			fail(path);
		break;
	case 6:
		set_xattr(path);
		break;
	case 7:
		break;
	default:
		make_beside(path);
		return;
	}
	set_time(path);
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "seed", required_argument, NULL, 's' },
		                                 { "percent", required_argument, NULL, 'p' },
		                                 { "xattr-bytes", required_argument, NULL, 'x' },
		                                 { 0 } };
	uint64_t percent = 20;

	for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (option == 's')
			random_state = strtoull(optarg, NULL, 10);
		else if (option == 'p')
			percent = strtoull(optarg, NULL, 10);
		else if (option == 'x')
			most_xattr_bytes = strtoull(optarg, NULL, 10);
		else
			return 2;
	}
	if (optind + 1 != argc || !most_xattr_bytes)
		return 2;
	if (nftw(argv[optind], note_path, 16, FTW_PHYS))
		fail(argv[optind]);
	qsort(paths, path_count, sizeof(*paths), compare);
	for (size_t i = 0; i < path_count; i++)
		if (random_below(100) < percent)
			change(paths[i]);
	make_beside(argv[optind]);
	return 0;
}
