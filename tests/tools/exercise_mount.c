// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random operations on a mounted filesystem, after fsx: each is done to a model in memory too, and what is read must be
 * what the model has.
 *
 *   exercise_mount DIR SEED SECONDS [OPERATION]...   leaves these operations out; ends with how often each was done
 *   exercise_mount --sync DIR SEED LOG               writes files and says in LOG how many fsync(2) has answered, until
 *                                                    the filesystem is gone
 *   exercise_mount --synced DIR SEED LOG             are these there, whole?
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define DIRECTORIES 6u
#define NAMES 8u /* in each */
#define MOST_BYTES ((size_t)768 << 10)
#define MOST_WRITTEN ((size_t)64 << 10)
#define MOST_TARGET 1000u
#define MOST_XATTR 900u
#define BLOCK ((size_t)4096)

/* A file or a symbolic link, which several names may have. */
struct node {
	bool is_link;
	unsigned int names;
	size_t bytes;
	char *contents; /* MOST_BYTES of a file, the target of a link; zeros after the end */
	size_t xattr_bytes;
	char xattr[MOST_XATTR];
};

static struct directory {
	bool exists;
	struct node *names[NAMES];
} directories[DIRECTORIES];

static const char *root;
static uint64_t state;
static const char *doing = "";
static unsigned long step;

static void __attribute__((format(printf, 1, 2), noreturn)) fail(const char *format, ...)
{
	va_list arguments;

	printf("operation %lu, %s: ", step, doing);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	exit(EXIT_FAILURE);
}

/* With TRACE in the environment: on standard error, what is done to which file. */
static void trace(const char *path, size_t offset, size_t bytes)
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
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * UINT64_C(0x2545f4914f6cdd1d);
}

/* 0 to limit - 1. */
static size_t below(size_t limit)
{
	return (size_t)((next_random() >> 16) % limit);
}

static void fill(char *bytes, size_t count)
{
	for (size_t index = 0; index < count; index++)
		bytes[index] = (char)(next_random() >> 33);
}

static const char *path_of(unsigned int directory, unsigned int name)
{
	static char paths[4][4096];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/d%u/f%u", root, directory, name);
	return path;
}

static const char *directory_path(unsigned int directory)
{
	static char paths[2][4096];
	static unsigned int next;
	char *path = paths[next++ % 2];

	snprintf(path, sizeof(paths[0]), "%s/d%u", root, directory);
	return path;
}

/* --- What an operation works on ----------------------------------------------------------------------------------- */

struct place {
	unsigned int directory, name;
	struct node **node;
};

static struct place any_place(void)
{
	struct place place = { .directory = (unsigned int)below(DIRECTORIES), .name = (unsigned int)below(NAMES) };

	while (!directories[place.directory].exists)
		place.directory = (place.directory + 1) % DIRECTORIES;
	place.node = &directories[place.directory].names[place.name];
	return place;
}

/* is_taken: a name that is there, of a file or a link; else one that is not. False: none was found. */
static bool find_place(bool is_taken, bool is_link, struct place *place)
{
	for (int tries = 0; tries < 100; tries++) {
		*place = any_place();
		if (is_taken ? *place->node && (*place->node)->is_link == is_link : !*place->node)
			return true;
	}
	return false;
}

static const char *path_at(const struct place *place)
{
	return path_of(place->directory, place->name);
}

static struct node *new_node(bool is_link)
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

static void drop(struct node **node)
{
	if (--(*node)->names == 0) {
		free((*node)->contents);
		free(*node);
	}
	*node = NULL;
}

static int open_file(const struct place *place, int flags)
{
	int descriptor = open(path_at(place), flags, 0644);

	if (descriptor < 0)
		fail("open %s: %s", path_at(place), strerror(errno));
	return descriptor;
}

static void close_file(int descriptor)
{
	if (close(descriptor) != 0)
		fail("close: %s", strerror(errno));
}

/* --- Looking ------------------------------------------------------------------------------------------------------ */

static void compare(const char *path, const char *found, const char *expected, size_t offset, size_t bytes)
{
	for (size_t index = 0; index < bytes; index++)
		if (found[index] != expected[index])
			fail("%s: byte %zu is %d, should be %d", path, offset + index, found[index], expected[index]);
}

static void read_range(const struct place *place, size_t offset, size_t bytes)
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

static void check_everything(void)
{
	doing = "comparing everything";
	for (unsigned int directory = 0; directory < DIRECTORIES; directory++) {
		struct stat status;

		if ((stat(directory_path(directory), &status) == 0) != directories[directory].exists)
			fail("%s: %s there", directory_path(directory), directories[directory].exists ? "is not" : "is");
		if (!directories[directory].exists)
			continue;
		check_list(directory);
		for (unsigned int name = 0; name < NAMES; name++)
			check_place(&(struct place){ directory, name, &directories[directory].names[name] });
	}
}

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

/* The first one stays. */
static bool do_rmdir(void)
{
	unsigned int directory = 1 + (unsigned int)below(DIRECTORIES - 1);

	if (!directories[directory].exists)
		return false;
	if (below(2))
		empty(directory);
	int result = rmdir(directory_path(directory));

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
	{ "create", do_create, 20, 0 },     { "write", do_write, 30, 0 },       { "append", do_append, 30, 0 },
	{ "read", do_read, 30, 0 },         { "truncate", do_truncate, 15, 0 }, { "unlink", do_unlink, 12, 0 },
	{ "rename", do_rename, 12, 0 },     { "link", do_link, 8, 0 },          { "symlink", do_symlink, 6, 0 },
	{ "mkdir", do_mkdir, 4, 0 },        { "rmdir", do_rmdir, 4, 0 },        { "rename-directory", do_rename_directory, 3, 0 },
	{ "xattr", do_xattr, 10, 0 },       { "fallocate", do_fallocate, 8, 0 }, { "punch", do_punch, 8, 0 },
	{ "mmap", do_mmap, 10, 0 },         { "fsync", do_fsync, 2, 0 },        { "compare", do_compare, 1, 0 },
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
	for (step = 1; seconds_now() < end; step++) {
		struct operation *operation = choose();

		doing = operation->name;
		operation->done += operation->run();
	}
	check_everything();
	for (size_t index = 0; index < OPERATIONS; index++)
		printf("%s %lu\n", operations[index].name, operations[index].done);
}

/* --- What fsync(2) promises --------------------------------------------------------------------------------------- */

#define MOST_SYNCED ((size_t)200 << 10)

/* What the file of this number holds. */
static size_t synced_contents(uint64_t seed, unsigned long number, char *bytes)
{
	state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (number + 1) * UINT64_C(0xd1b54a32d192ed03);
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
	bool writes = argument_count == 5 && strcmp(arguments[1], "--sync") == 0;
	bool checks = argument_count == 5 && strcmp(arguments[1], "--synced") == 0;

	if (argument_count < 4)
		fail("arguments are missing");
	root = arguments[1 + (writes || checks)];
	uint64_t seed = strtoull(arguments[2 + (writes || checks)], NULL, 10);

	if (writes || checks) {
		FILE *log = fopen(arguments[4], writes ? "w" : "r");

		if (!log)
			fail("%s: %s", arguments[4], strerror(errno));
		(writes ? write_synced : check_synced)(seed, log);
		fclose(log);
		return EXIT_SUCCESS;
	}
	state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	for (int index = 4; index < argument_count; index++)
		leave_out(arguments[index]);
	exercise(strtod(arguments[3], NULL));
	return EXIT_SUCCESS;
}
