/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split_tree TREE LOWER UPPER --seed=N [--form=oci|overlayfs]: makes LOWER and UPPER, two layers that give TREE again
 * when they are merged. By chance each entry is in either, UPPER replaces things of any type that LOWER has under the
 * same name, and its whiteouts and opaque directories remove what only LOWER has. Files are hard links of TREE's.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "support/cleanup.h"

#define MOST_TO_REMOVE 251 /* bytes of a name that has room for ".wh." before it */

/* The layers that may have the contents of a directory. */
enum layers { BOTH, LOWER_ONLY, UPPER_ONLY };

/* One directory in the tree and in the layers; -1 where a layer does not have it. */
struct place {
	int tree, lower, upper;
	enum layers layers;
};

static uint64_t random_state, seed, removed, replaced;
static bool is_oci = true;

__attribute__((noreturn)) static void fail(const char *name, const char *action)
{
	fprintf(stderr, "split_tree: %s: %s: %s\n", name, action, strerror(errno));
	exit(1);
}

/* splitmix64 */
static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
	value = (value ^ value >> 27) * 0x94d049bb133111eb;
	return value ^ value >> 31;
}

static uint64_t random_below(uint64_t limit)
{
	return mix(random_state += 0x9e3779b97f4a7c15) % limit;
}

static bool one_in(uint64_t chances)
{
	return random_below(chances) == 0;
}

static int open_directory(int at, const char *name)
{
	int directory = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (directory < 0)
		fail(name, "cannot open directory");
	return directory;
}

static int make_directory(int at, const char *name)
{
	if (mkdirat(at, name, 0711))
		fail(name, "cannot make a directory");
	return open_directory(at, name);
}

static void make_file(int at, const char *name, const char *text)
{
	SCOPE_CLOSE int file = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);

	if (file < 0 || write(file, text, strlen(text)) < 0)
		fail(name, "cannot make a file");
}

/* What is to be replaced or removed: of any type. */
static void make_junk(int at, const char *name)
{
	switch (random_below(4)) {
	case 0:
		make_file(at, name, "of the lower layer");
		return;
	case 1:
		if (symlinkat("lower", at, name))
			fail(name, "cannot make a symlink");
		return;
	case 2:
		if (mknodat(at, name, S_IFIFO | 0600, 0))
			fail(name, "cannot make a fifo");
		return;
	default: {
		SCOPE_CLOSE int directory = make_directory(at, name);

		make_file(directory, "below", "of the lower layer");
		SCOPE_CLOSE int deeper = make_directory(directory, "deeper");

		make_file(deeper, "below", "");
	}
	}
}

/* Says in the upper layer's directory that name of the lower one is gone. */
static void white_out(int upper, const char *name)
{
	char mark[300];

	removed++;
	snprintf(mark, sizeof(mark), "%s%s", is_oci ? ".wh." : "", name);
	if (is_oci)
		make_file(upper, mark, "");
	else if (mknodat(upper, mark, S_IFCHR, makedev(0, 0)))
		fail(name, "cannot make a whiteout");
}

static void make_opaque(int upper)
{
	if (is_oci)
		make_file(upper, ".wh..wh..opq", "");
	else if (fsetxattr(upper, "trusted.overlay.opaque", "y", 1, 0))
		fail("trusted.overlay.opaque", "cannot set");
}

/* The file itself gets a further name, so it is the same in all that a layer can hold. */
static void add_link(const struct place *place, int layer, const char *name)
{
	if (linkat(place->tree, name, layer, name, 0))
		fail(name, "cannot link");
}

static void copy_xattrs(int from, int to)
{
	static char list[65536], value[65536];
	ssize_t list_bytes = flistxattr(from, list, sizeof(list));

	for (const char *name = list; name < list + list_bytes; name += strlen(name) + 1) {
		ssize_t value_bytes = fgetxattr(from, name, value, sizeof(value));

		if (value_bytes < 0 || fsetxattr(to, name, value, (size_t)value_bytes, 0))
			fail(name, "cannot copy");
	}
}

/* After its contents, which change the times. Setting an ACL changes the mode, so that comes later. */
static void copy_attributes(int from, int to)
{
	struct stat status;

	if (fstat(from, &status) || fchown(to, status.st_uid, status.st_gid))
		fail("directory", "cannot change the owner");
	copy_xattrs(from, to);
	if (fchmod(to, status.st_mode & 07777) ||
	    futimens(to, (const struct timespec[2]){ status.st_atim, status.st_mtim }))
		fail("directory", "cannot set attributes");
}

static bool is_self(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static DIR *list(int directory)
{
	DIR *stream = fdopendir(open_directory(directory, "."));

	if (!stream)
		fail("directory", "cannot list");
	return stream;
}

/* A file with several names must be in one layer with all of them, so all their directories are in both. */
static bool has_links(int directory)
{
	SCOPE_CLOSEDIR DIR *stream = list(directory);

	for (struct dirent *entry; (entry = readdir(stream));) {
		struct stat status;

		if (is_self(entry->d_name))
			continue;
		if (fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
			fail(entry->d_name, "cannot look up");
		if (!S_ISDIR(status.st_mode) && status.st_nlink > 1)
			return true;
		if (!S_ISDIR(status.st_mode))
			continue;
		SCOPE_CLOSE int below = open_directory(directory, entry->d_name);

		if (has_links(below))
			return true;
	}
	return false;
}

static void split_directory(const struct place *place);

static void split_file(const struct place *place, const char *name, const struct stat *status)
{
	enum layers layers = place->layers;

	if (layers == BOTH) { /* by what all names of a file have in common, and every run again */
		uint64_t chance =
			status->st_nlink > 1 ? mix(seed + (uint64_t)status->st_mtim.tv_nsec) : random_below(2);

		layers = chance & 1 ? LOWER_ONLY : UPPER_ONLY;
	}
	add_link(place, layers == LOWER_ONLY ? place->lower : place->upper, name);
	if (place->lower < 0 || layers == LOWER_ONLY || !one_in(3))
		return;
	replaced++;
	make_junk(place->lower, name);
	if (is_oci && one_in(3) && strlen(name) <= MOST_TO_REMOVE)
		white_out(place->upper, name); /* also says what is so already */
}

/* What LOWER has under the name of a directory that is wholly in UPPER. */
static void replace_directory(const struct place *place, int upper, const char *name)
{
	bool is_hidden = is_oci && one_in(2) && strlen(name) <= MOST_TO_REMOVE;

	replaced++;
	if (!is_hidden && one_in(3)) { /* no directory: nothing has to be said */
		if (mknodat(place->lower, name, S_IFIFO | 0600, 0))
			fail(name, "cannot make a fifo");
		return;
	}
	SCOPE_CLOSE int lower = make_directory(place->lower, name);

	make_junk(lower, "left from below");
	if (is_hidden)
		white_out(place->upper, name);
	else
		make_opaque(upper);
}

static void split_subdirectory(const struct place *place, const char *name)
{
	SCOPE_CLOSE int tree = open_directory(place->tree, name);
	SCOPE_CLOSE int lower = -1;
	SCOPE_CLOSE int upper = -1;
	enum layers layers = place->layers;

	if (layers == BOTH && one_in(2) && !has_links(tree))
		layers = one_in(2) ? LOWER_ONLY : UPPER_ONLY;
	if (layers != UPPER_ONLY)
		lower = make_directory(place->lower, name);
	if (layers != LOWER_ONLY)
		upper = make_directory(place->upper, name);
	split_directory(&(struct place){ tree, lower, upper, layers });
	if (layers == UPPER_ONLY && place->lower >= 0 && one_in(2))
		replace_directory(place, upper, name);
	if (upper >= 0)
		copy_attributes(tree, upper);
	if (lower >= 0 && (upper < 0 || one_in(2))) /* else they are others, which UPPER's replace */
		copy_attributes(tree, lower);
}

static void split_directory(const struct place *place)
{
	SCOPE_CLOSEDIR DIR *stream = list(place->tree);

	for (struct dirent *entry; (entry = readdir(stream));) {
		struct stat status;

		if (is_self(entry->d_name))
			continue;
		if (fstatat(place->tree, entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
			fail(entry->d_name, "cannot look up");
		if (S_ISDIR(status.st_mode))
			split_subdirectory(place, entry->d_name);
		else
			split_file(place, entry->d_name, &status);
	}
	if (place->layers != BOTH || !one_in(2))
		return;
	make_junk(place->lower, "only in the lower layer");
	white_out(place->upper, "only in the lower layer");
	if (one_in(4))
		white_out(place->upper, "in no layer");
}

static void read_options(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "form", required_argument, NULL, 'f' },
		{ NULL, 0, NULL, 0 },
	};

	for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
		if (option == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (option == 'f' && (!strcmp(optarg, "oci") || !strcmp(optarg, "overlayfs")))
			is_oci = !strcmp(optarg, "oci");
		else
			optind = argc;
	}
	if (argc - optind == 3)
		return;
	fputs("usage: split_tree TREE LOWER UPPER --seed=N [--form=oci|overlayfs]\n", stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	read_options(argc, argv);
	random_state = mix(seed);
	umask(022);
	SCOPE_CLOSE int tree = open_directory(AT_FDCWD, argv[optind]);
	SCOPE_CLOSE int lower = make_directory(AT_FDCWD, argv[optind + 1]);
	SCOPE_CLOSE int upper = make_directory(AT_FDCWD, argv[optind + 2]);

	split_directory(&(struct place){ tree, lower, upper, BOTH });
	copy_attributes(tree, upper);
	printf("%s: seed %" PRIu64 ", %" PRIu64 " replaced, %" PRIu64 " removed\n", argv[optind], seed, replaced,
	       removed);
	return 0;
}
