/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random operations on a mounted filesystem, after fsx: each is done to a model in memory too, and what is read must be
 * what the model has.
 *
 *   exercise_mount DIR SEED SECONDS [OPERATION]...   leaves these operations out; ends with how often each was done
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "exercise_model.h"

#define MOST_WRITTEN ((size_t)64 << 10)
#define BLOCK ((size_t)4096)
#define LEAST_STEPS 1000 /* in which each operation comes up, however busy the machine is */

/* --- Operations: false where there is nothing that they could be done to ------------------------------------------ */

static bool do_create(void)
{
	struct place place;

	if (!find_place(false, false, &place))
		return false;
	close_file(open_file(&place, O_CREAT | O_EXCL | O_WRONLY));
	*place.node = new_node(false);
	return true;
}

static void extend(struct node *node, size_t end)
{
	if (end > node->bytes)
		node->bytes = end;
}

static void write_range(const struct place *place, size_t offset, size_t bytes, int flags)
{
	struct node *node = *place->node;
	int descriptor = open_file(place, O_RDWR | flags);

	trace(path_at(place), offset, bytes);
	fill(node->contents + offset, bytes);
	extend(node, offset + bytes);
	ssize_t done = pwrite(descriptor, node->contents + offset, bytes, (off_t)offset);

	if (done < 0 || (size_t)done != bytes)
		fail("%s: write of %zu at %zu: %zd, %s", path_at(place), bytes, offset, done, strerror(errno));
	close_file(descriptor);
}

static bool do_write(void)
{
	struct place place;
	size_t bytes = 1 + below(MOST_WRITTEN);

	if (!find_place(true, false, &place))
		return false;
	write_range(&place, below(MOST_BYTES - bytes), bytes, 0);
	return true;
}

static bool do_append(void)
{
	struct place place;
	size_t bytes = 1 + below(2 * BLOCK);

	if (!find_place(true, false, &place) || (*place.node)->bytes + bytes > MOST_BYTES)
		return false;
	write_range(&place, (*place.node)->bytes, bytes, 0);
	return true;
}

static bool do_read(void)
{
	struct place place;

	if (!find_place(true, false, &place))
		return false;
	read_range(&place, below(MOST_BYTES / 2), 1 + below(MOST_BYTES / 2));
	return true;
}

static bool do_truncate(void)
{
	struct place place;
	size_t bytes = below(MOST_BYTES);

	if (!find_place(true, false, &place))
		return false;
	struct node *node = *place.node;

	if (below(4) == 0)
		bytes = 0;
	trace(path_at(&place), bytes, node->bytes);
	if (truncate(path_at(&place), (off_t)bytes) != 0)
		fail("%s to %zu: %s", path_at(&place), bytes, strerror(errno));
	if (bytes < node->bytes)
		memset(node->contents + bytes, 0, node->bytes - bytes);
	node->bytes = bytes;
	return true;
}

static bool do_unlink(void)
{
	struct place place;

	if (!find_place(true, below(4) == 0, &place))
		return false;
	trace(path_at(&place), 0, 0);
	if (unlink(path_at(&place)) != 0)
		fail("%s: %s", path_at(&place), strerror(errno));
	drop(place.node);
	return true;
}

static bool do_rename(void)
{
	struct place from, to = any_place();

	if (!find_place(true, below(4) == 0, &from) || *from.node == *to.node)
		return false;
	trace(path_at(&from), 0, 0);
	trace(path_at(&to), 0, 0);
	if (rename(path_at(&from), path_at(&to)) != 0)
		fail("%s to %s: %s", path_at(&from), path_at(&to), strerror(errno));
	if (*to.node)
		drop(to.node);
	*to.node = *from.node;
	*from.node = NULL;
	return true;
}

static bool do_link(void)
{
	struct place from, to;

	if (!find_place(true, false, &from) || !find_place(false, false, &to))
		return false;
	trace(path_at(&from), 0, 0);
	trace(path_at(&to), 0, 0);
	if (link(path_at(&from), path_at(&to)) != 0)
		fail("%s to %s: %s", path_at(&from), path_at(&to), strerror(errno));
	*to.node = *from.node;
	(*to.node)->names++;
	return true;
}

static bool do_symlink(void)
{
	struct place place;

	if (!find_place(false, false, &place))
		return false;
	struct node *node = *place.node = new_node(true);

	node->bytes = 1 + below(below(2) ? MOST_TARGET : 60);
	for (size_t index = 0; index < node->bytes; index++)
		node->contents[index] = (char)('a' + below(26));
	if (symlink(node->contents, path_at(&place)) != 0)
		fail("%s: %s", path_at(&place), strerror(errno));
	return true;
}

static bool do_mkdir(void)
{
	unsigned int directory = (unsigned int)below(DIRECTORIES);

	if (directories[directory].exists)
		return false;
	if (mkdir(directory_path(directory), 0755) != 0)
		fail("%s: %s", directory_path(directory), strerror(errno));
	directories[directory].exists = true;
	return true;
}

static bool is_empty(unsigned int directory)
{
	for (unsigned int name = 0; name < NAMES; name++)
		if (directories[directory].names[name])
			return false;
	return true;
}

static void empty(unsigned int directory)
{
	for (unsigned int name = 0; name < NAMES; name++) {
		if (!directories[directory].names[name])
			continue;
		if (unlink(path_of(directory, name)) != 0)
			fail("%s: %s", path_of(directory, name), strerror(errno));
		drop(&directories[directory].names[name]);
	}
}

/* What libfuse has hidden (tests/lib.sh) goes when it hears that the file has been closed. */
static int remove_directory(const char *path, bool has_names_left)
{
	const struct timespec moment = { .tv_nsec = 10 * 1000 * 1000 };
	int result = rmdir(path);

	for (int wait = 0; result && !has_names_left && errno == ENOTEMPTY && wait < 500; wait++) {
		nanosleep(&moment, NULL);
		result = rmdir(path);
	}
	return result;
}

/* The first one stays. */
static bool do_rmdir(void)
{
	unsigned int directory = 1 + (unsigned int)below(DIRECTORIES - 1);

	if (!directories[directory].exists)
		return false;
	if (below(2))
		empty(directory);
	int result = remove_directory(directory_path(directory), !is_empty(directory));

	if (is_empty(directory) ? result != 0 : result == 0 || errno != ENOTEMPTY)
		fail("%s: %s", directory_path(directory), result ? strerror(errno) : "was not empty");
	directories[directory].exists = result != 0;
	return true;
}

static bool do_rename_directory(void)
{
	unsigned int from = 1 + (unsigned int)below(DIRECTORIES - 1), to = 1 + (unsigned int)below(DIRECTORIES - 1);

	if (!directories[from].exists || directories[to].exists)
		return false;
	if (rename(directory_path(from), directory_path(to)) != 0)
		fail("%s to %s: %s", directory_path(from), directory_path(to), strerror(errno));
	directories[to] = directories[from];
	directories[from] = (struct directory){ 0 };
	return true;
}

static bool do_xattr(void)
{
	struct place place;

	if (!find_place(true, false, &place))
		return false;
	struct node *node = *place.node;

	if (node->xattr_bytes && below(3) == 0) {
		node->xattr_bytes = 0;
		if (removexattr(path_at(&place), "user.model") != 0)
			fail("%s: remove: %s", path_at(&place), strerror(errno));
		return true;
	}
	node->xattr_bytes = 1 + below(below(2) ? 40 : MOST_XATTR);
	fill(node->xattr, node->xattr_bytes);
	if (setxattr(path_at(&place), "user.model", node->xattr, node->xattr_bytes, 0) != 0)
		fail("%s: %zu: %s", path_at(&place), node->xattr_bytes, strerror(errno));
	return true;
}

static void change_blocks(const struct place *place, int mode, size_t offset, size_t bytes)
{
	int descriptor = open_file(place, O_RDWR);

	trace(path_at(place), offset, bytes);
	if (fallocate(descriptor, mode, (off_t)offset, (off_t)bytes) != 0)
		fail("%s: %zu at %zu: %s", path_at(place), bytes, offset, strerror(errno));
	close_file(descriptor);
}

static bool do_fallocate(void)
{
	struct place place;
	size_t offset = below(MOST_BYTES / 2), bytes = 1 + below(MOST_BYTES / 2);

	if (!find_place(true, false, &place))
		return false;
	change_blocks(&place, 0, offset, bytes);
	extend(*place.node, offset + bytes);
	return true;
}

/* Whole blocks within the file. */
static bool do_punch(void)
{
	struct place place;

	if (!find_place(true, false, &place) || (*place.node)->bytes < 4 * BLOCK)
		return false;
	struct node *node = *place.node;
	size_t blocks = node->bytes / BLOCK, from = below(blocks - 1), count = 1 + below(blocks - from - 1);

	change_blocks(&place, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from * BLOCK, count * BLOCK);
	memset(node->contents + from * BLOCK, 0, count * BLOCK);
	return true;
}

static bool do_mmap(void)
{
	struct place place;

	if (!find_place(true, false, &place) || !(*place.node)->bytes)
		return false;
	struct node *node = *place.node;
	int descriptor = open_file(&place, O_RDWR);
	char *mapped = mmap(NULL, node->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	size_t offset = below(node->bytes), most = node->bytes - offset, bytes = 1 + below(most < 5000 ? most : 5000);

	if (mapped == MAP_FAILED)
		fail("%s: %s", path_at(&place), strerror(errno));
	compare(path_at(&place), mapped, node->contents, 0, node->bytes);
	fill(node->contents + offset, bytes);
	memcpy(mapped + offset, node->contents + offset, bytes);
	if (msync(mapped, node->bytes, MS_SYNC) != 0 || munmap(mapped, node->bytes) != 0)
		fail("%s: %s", path_at(&place), strerror(errno));
	close_file(descriptor);
	return true;
}

static bool do_fsync(void)
{
	struct place place;

	if (!find_place(true, false, &place))
		return false;
	int descriptor = open_file(&place, O_RDWR);

	if (fsync(descriptor) != 0)
		fail("%s: %s", path_at(&place), strerror(errno));
	close_file(descriptor);
	return true;
}

static bool do_compare(void)
{
	check_everything();
	return true;
}

static struct operation {
	const char *name;
	bool (*run)(void);
	unsigned int weight;
	unsigned long done;
} operations[] = {
	{ "create", do_create, 20, 0 },     { "write", do_write, 30, 0 },
	{ "append", do_append, 30, 0 },     { "read", do_read, 30, 0 },
	{ "truncate", do_truncate, 15, 0 }, { "unlink", do_unlink, 12, 0 },
	{ "rename", do_rename, 12, 0 },     { "link", do_link, 8, 0 },
	{ "symlink", do_symlink, 6, 0 },    { "mkdir", do_mkdir, 4, 0 },
	{ "rmdir", do_rmdir, 4, 0 },        { "rename-directory", do_rename_directory, 3, 0 },
	{ "xattr", do_xattr, 10, 0 },       { "fallocate", do_fallocate, 8, 0 },
	{ "punch", do_punch, 8, 0 },        { "mmap", do_mmap, 10, 0 },
	{ "fsync", do_fsync, 2, 0 },        { "compare", do_compare, 1, 0 },
};

#define OPERATIONS (sizeof(operations) / sizeof(*operations))

static struct operation *choose(void)
{
	unsigned int sum = 0;

	for (size_t index = 0; index < OPERATIONS; index++)
		sum += operations[index].weight;
	size_t chosen = below(sum);

	for (size_t index = 0;; index++) {
		if (chosen < operations[index].weight)
			return &operations[index];
		chosen -= operations[index].weight;
	}
}

static void leave_out(const char *name)
{
	for (size_t index = 0; index < OPERATIONS; index++)
		if (strcmp(operations[index].name, name) == 0) {
			operations[index].weight = 0;
			return;
		}
	fail("%s: no such operation", name);
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void exercise(double seconds)
{
	double end = seconds_now() + seconds;

	directories[0].exists = true;
	if (mkdir(directory_path(0), 0755) != 0)
		fail("%s: %s", directory_path(0), strerror(errno));
	for (step = 1; step <= LEAST_STEPS || seconds_now() < end; step++) {
		struct operation *operation = choose();

		doing = operation->name;
		operation->done += operation->run();
	}
	check_everything();
	for (size_t index = 0; index < OPERATIONS; index++)
		printf("%s %lu\n", operations[index].name, operations[index].done);
}

int main(int argument_count, char **arguments)
{
	if (argument_count < 4)
		fail("arguments are missing");
	root = arguments[1];
	random_state = (strtoull(arguments[2], NULL, 10) + 1) * UINT64_C(0x9e3779b97f4a7c15);
	for (int index = 4; index < argument_count; index++)
		leave_out(arguments[index]);
	exercise(strtod(arguments[3], NULL));
	return EXIT_SUCCESS;
}
