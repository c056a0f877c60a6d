/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exercise_model.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

struct directory directories[DIRECTORIES];
const char *root;
uint64_t random_state;
const char *doing = "";
unsigned long step;

void fail(const char *format, ...)
{
	va_list arguments;

	printf("operation %lu, %s: ", step, doing);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	exit(EXIT_FAILURE);
}

void trace(const char *path, size_t offset, size_t bytes)
{
	static int is_on = -1;

	if (is_on < 0)
		is_on = getenv("TRACE") != NULL;
	if (is_on)
		fprintf(stderr, "%lu %s %s %zu %zu\n", step, doing, path, offset, bytes);
}

/* xorshift64* */
static uint64_t next_random(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * UINT64_C(0x2545f4914f6cdd1d);
}

size_t below(size_t limit)
{
	return (size_t)((next_random() >> 16) % limit);
}

void fill(char *bytes, size_t count)
{
	for (size_t index = 0; index < count; index++)
		bytes[index] = (char)(next_random() >> 33);
}

const char *path_of(unsigned int directory, unsigned int name)
{
	static char paths[4][4096];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/d%u/f%u", root, directory, name);
	return path;
}

const char *directory_path(unsigned int directory)
{
	static char paths[2][4096];
	static unsigned int next;
	char *path = paths[next++ % 2];

	snprintf(path, sizeof(paths[0]), "%s/d%u", root, directory);
	return path;
}

/* --- What an operation works on ----------------------------------------------------------------------------------- */

struct place any_place(void)
{
	struct place place = { .directory = (unsigned int)below(DIRECTORIES), .name = (unsigned int)below(NAMES) };

	while (!directories[place.directory].exists)
		place.directory = (place.directory + 1) % DIRECTORIES;
	place.node = &directories[place.directory].names[place.name];
	return place;
}

bool find_place(bool is_taken, bool is_link, struct place *place)
{
	for (int tries = 0; tries < 100; tries++) {
		*place = any_place();
		if (is_taken ? *place->node && (*place->node)->is_link == is_link : !*place->node)
			return true;
	}
	return false;
}

const char *path_at(const struct place *place)
{
	return path_of(place->directory, place->name);
}

struct node *new_node(bool is_link)
{
	struct node *node = calloc(1, sizeof(*node));

	if (node)
		node->contents = calloc(1, is_link ? MOST_TARGET + 1 : MOST_BYTES);
	if (!node || !node->contents)
		fail("out of memory");
	node->is_link = is_link;
	node->names = 1;
	return node;
}

void drop(struct node **node)
{
	if (--(*node)->names == 0) {
		free((*node)->contents);
		free(*node);
	}
	*node = NULL;
}

int open_file(const struct place *place, int flags)
{
	int descriptor = open(path_at(place), flags, 0644);

	if (descriptor < 0)
		fail("open %s: %s", path_at(place), strerror(errno));
	return descriptor;
}

void close_file(int descriptor)
{
	if (close(descriptor) != 0)
		fail("close: %s", strerror(errno));
}

/* --- Looking ------------------------------------------------------------------------------------------------------ */

void compare(const char *path, const char *found, const char *expected, size_t offset, size_t bytes)
{
	for (size_t index = 0; index < bytes; index++)
		if (found[index] != expected[index])
			fail("%s: byte %zu is %d, should be %d", path, offset + index, found[index], expected[index]);
}

void read_range(const struct place *place, size_t offset, size_t bytes)
{
	static char buffer[MOST_BYTES];
	const struct node *node = *place->node;
	int descriptor = open_file(place, O_RDONLY);
	trace(path_at(place), offset, bytes);
	ssize_t got = pread(descriptor, buffer, bytes, (off_t)offset);
	size_t expected = offset >= node->bytes ? 0 : node->bytes - offset < bytes ? node->bytes - offset : bytes;

	if (got < 0 || (size_t)got != expected)
		fail("%s: %zd bytes of %zu at %zu, should be %zu", path_at(place), got, bytes, offset, expected);
	compare(path_at(place), buffer, node->contents + offset, offset, expected);
	close_file(descriptor);
}

static void check_xattr(const struct place *place)
{
	char value[MOST_XATTR];
	const struct node *node = *place->node;
	ssize_t got = lgetxattr(path_at(place), "user.model", value, sizeof(value));

	if (got < 0 && errno == ENODATA)
		got = 0;
	if (got < 0 || (size_t)got != node->xattr_bytes)
		fail("%s: xattr of %zd bytes, should be %zu", path_at(place), got, node->xattr_bytes);
	compare(path_at(place), value, node->xattr, 0, node->xattr_bytes);
}

static void check_place(const struct place *place)
{
	const struct node *node = *place->node;
	struct stat status;
	char target[MOST_TARGET + 2];

	if (lstat(path_at(place), &status) != 0) {
		if (node || errno != ENOENT)
			fail("%s: %s", path_at(place), strerror(errno));
		return;
	}
	if (!node)
		fail("%s is there, and should not be", path_at(place));
	if (S_ISLNK(status.st_mode) != node->is_link || status.st_nlink != node->names ||
	    (size_t)status.st_size != node->bytes)
		fail("%s: mode %o, %lu links, %lld bytes, should be %u and %zu", path_at(place), status.st_mode,
		     (unsigned long)status.st_nlink, (long long)status.st_size, node->names, node->bytes);
	if (!node->is_link) {
		read_range(place, 0, MOST_BYTES);
		check_xattr(place);
		return;
	}
	ssize_t got = readlink(path_at(place), target, sizeof(target));

	if (got < 0 || (size_t)got != node->bytes)
		fail("%s: target of %zd bytes, should be %zu", path_at(place), got, node->bytes);
	compare(path_at(place), target, node->contents, 0, node->bytes);
}

static void check_list(unsigned int directory)
{
	DIR *list = opendir(directory_path(directory));
	size_t found = 0, expected = 0;
	struct dirent *entry;

	if (!list)
		fail("%s: %s", directory_path(directory), strerror(errno));
	while ((entry = readdir(list)))
		found += entry->d_name[0] == 'f';
	closedir(list);
	for (unsigned int name = 0; name < NAMES; name++)
		expected += directories[directory].names[name] != NULL;
	if (found != expected)
		fail("%s has %zu names, should have %zu", directory_path(directory), found, expected);
}

void check_everything(void)
{
	doing = "comparing everything";
	for (unsigned int directory = 0; directory < DIRECTORIES; directory++) {
		struct stat status;

		if ((stat(directory_path(directory), &status) == 0) != directories[directory].exists)
			fail("%s: %s there", directory_path(directory),
			     directories[directory].exists ? "is not" : "is");
		if (!directories[directory].exists)
			continue;
		check_list(directory);
		for (unsigned int name = 0; name < NAMES; name++)
			check_place(&(struct place){ directory, name, &directories[directory].names[name] });
	}
}
