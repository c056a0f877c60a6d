/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * make_tree DIR --seed=N [--files=N] [--kind=KIND] [--xattr-bytes=N]: a random source tree, the same for the same
 * arguments wherever it is made. What the caller may not make (devices, owners, trusted xattrs) or the
 * filesystem of DIR cannot hold is left out and counted in the closing line.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "make_tree.h"
#include "support/cleanup.h"

#define SMALLEST_BLOCK_BYTES 1024
#define BLOCK_BYTES 4096
#define MAXIMUM_PATH_BYTES 3000 /* of the mixed kind, whose paths are used whole */
#define FILES_EACH 100          /* directory, of the kinds that have many alike */

struct paths {
	char **list;
	uint32_t count, room;
};

struct tree_options options = {
	.seed = 1, .files = 400, .xattr_bytes = 3000, .largest_bytes = 4 << 20, .longest_link = 4095, .kind = "mixed"
};

static uint64_t random_state;
static uint64_t made, left_out;
static struct paths directories, linkable;

void fail(const char *name, const char *action)
{
	fprintf(stderr, "make_tree: %s: %s: %s\n", name, action, strerror(errno));
	exit(1);
}

/* splitmix64 */
uint64_t random_number(void)
{
	uint64_t value = random_state += 0x9e3779b97f4a7c15;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
	value = (value ^ value >> 27) * 0x94d049bb133111eb;
	return value ^ value >> 31;
}

uint64_t random_below(uint64_t limit)
{
	return random_number() % limit;
}

bool one_in(uint64_t chances)
{
	return random_below(chances) == 0;
}

void fill_random(void *memory, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
		uint64_t value = random_number();

		memcpy((char *)memory + at, &value, bytes - at < sizeof(value) ? bytes - at : sizeof(value));
	}
}

static void paths_add(struct paths *paths, const char *path)
{
	if (paths->count == paths->room) {
		paths->room = paths->room ? 2 * paths->room : 256;
		paths->list = realloc(paths->list, paths->room * sizeof(*paths->list));
	}
	if (!paths->list || !(paths->list[paths->count++] = strdup(path)))
		fail(path, "cannot remember");
}

void optional(int result, const char *name, const char *action)
{
	if (!result)
		return;
	if (errno != EPERM && errno != ENOTSUP && errno != EINVAL && errno != ENOSPC)
		fail(name, action);
	left_out++;
}

/* ---- names ---- */

/* A name that no other entry has: its number is part of it. */
static const char *random_name(uint64_t number)
{
	static char name[256];
	static const char *const starts[] = {
		"file",    "a",           ".hidden",  "..",        "-dash",        "with space ",      "tab\there",
		"star*",   "back\\slash", "quote\"'", "new\nline", "\xff\xfe\x80", "\xc3\xbc\xe2\x82", "\x01\x7f",
		"$(true)", "%s%n"
	};
	int prefix_bytes = snprintf(name, sizeof(name), "%s%" PRIu64, PICK(starts), number);

	if (one_in(8)) { /* padded, to the longest name or to any length */
		size_t length = one_in(2) ? 255 : prefix_bytes + random_below(256 - prefix_bytes);

		for (size_t i = prefix_bytes; i < length; i++) {
			uint8_t byte = random_number();

			name[i] = byte == 0 || byte == '/' ? 'x' : byte;
		}
		name[length] = '\0';
	}
	return name;
}

static void join(char *path, const char *directory, const char *name)
{
	if (snprintf(path, PATH_MAX, "%s%s%s", directory, *directory ? "/" : "", name) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		fail(name, "cannot name");
	}
}

/* ---- contents ---- */

static uint64_t random_size(uint64_t largest_bytes)
{
	static const uint64_t units[] = { 1024, 4096, 65536 };
	static const uint64_t edges[] = { 0, 1, 59, 60, 61, 155, 156, 157, 160, 161 };
	uint64_t size = 0;

	switch (random_below(4)) {
	case 0:
		return PICK(edges);
	case 1: /* around the end of a block */
		size = PICK(units) * (1 + random_below(20)) + random_below(3) - 1;
		break;
	case 2:
		size = random_below(one_in(20) ? largest_bytes : 65536);
		break;
	default:
		size = random_below(8192);
	}
	return size < largest_bytes ? size : largest_bytes;
}

static void write_all(int file, const char *name, const char *data, size_t bytes, off_t offset)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t written = pwrite(file, data + done, bytes - done, offset + done);

		if (written < 0)
			fail(name, "cannot write");
		done += written;
	}
}

static int create_file(const char *name)
{
	int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (file < 0)
		fail(name, "cannot create");
	return file;
}

/* One file in eight has blocks of zeros (written, so not holes), one in sixteen nothing else. */
static void make_file(const char *name, uint64_t size_bytes)
{
	static char data[1 << 20];
	SCOPE_CLOSE int file = create_file(name);
	bool only_zeros = one_in(16) && !options.no_zeros, has_zeros = one_in(8) && !options.no_zeros;

	for (uint64_t offset = 0; offset < size_bytes;) {
		size_t bytes = size_bytes - offset < sizeof(data) ? size_bytes - offset : sizeof(data);

		fill_random(data, bytes);
		/* Nor by chance: a file of one byte is one of zeros every 256 times. */
		for (size_t block = 0; block < bytes && options.no_zeros; block += SMALLEST_BLOCK_BYTES)
			data[block] |= 1;
		for (size_t block = 0; block < bytes && (has_zeros || only_zeros); block += BLOCK_BYTES) {
			if (only_zeros || one_in(3))
				memset(data + block, 0, bytes - block < BLOCK_BYTES ? bytes - block : BLOCK_BYTES);
		}
		write_all(file, name, data, bytes, offset);
		offset += bytes;
	}
}

/* Runs of data, of zeros and of holes, each kind as likely at the start and the end as anywhere. */
static void make_sparse_file(const char *name)
{
	SCOPE_CLOSE int file = create_file(name);
	uint64_t runs = one_in(10) ? 1000 + random_below(1500) : random_below(12), longest = runs > 100 ? 2 : 40;
	uint64_t offset = 0;
	char block[BLOCK_BYTES];

	for (uint64_t run = 0; run < runs; run++) {
		uint64_t blocks = 1 + random_below(longest), kind = random_below(5);

		for (uint64_t i = 0; i < blocks && kind >= 2; i++) { /* 0 and 1: a hole */
			if (kind == 2 && !options.no_zeros)
				memset(block, 0, sizeof(block));
			else
				fill_random(block, sizeof(block));
			write_all(file, name, block, sizeof(block), offset + i * BLOCK_BYTES);
		}
		offset += blocks * BLOCK_BYTES;
	}
	if (one_in(10))
		offset += UINT64_C(1) << (20 + random_below(14)); /* a hole of up to 8 GiB at the end */
	if (one_in(2))
		offset += random_below(BLOCK_BYTES);
	if (ftruncate(file, offset))
		fail(name, "cannot set the size");
}

static void make_symlink(const char *name)
{
	static const uint64_t lengths[] = { 1, 58, 59, 60, 61, 100, 1023, 1024, 1025, 2000, 4094, 4095 };
	char target[PATH_MAX] = "";
	uint64_t length = one_in(3) ? PICK(lengths) : 1 + random_below(80);

	if (length > options.longest_link)
		length = options.longest_link;
	for (uint64_t i = 0; i < length; i++)
		target[i] = "abcdefgh/\xff"[random_below(10)];
	optional(symlink(target, name), name, "cannot make a symlink"); /* some filesystems keep shorter ones only */
}

/* Type and device of the special files; the kernel encodes small and large device numbers differently. */
static mode_t make_special(const char *name)
{
	static const mode_t types[] = { S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK };
	static const unsigned int majors[] = { 0, 1, 8, 255, 256, 4095 }, minors[] = { 0, 3, 255, 256, 65536, 1048575 };
	mode_t type = PICK(types);
	unsigned int major_number = PICK(majors), minor_number = PICK(minors);
	bool is_device = type == S_IFCHR || type == S_IFBLK;

	if (type == S_IFCHR && !major_number && !minor_number)
		minor_number = 3; /* 0:0 is a whiteout */
	optional(mknod(name, type | 0600, is_device ? makedev(major_number, minor_number) : 0), name,
	         "cannot make a special file");
	return type;
}

/* ---- kinds of trees ---- */

static void make_mixed_entry(const char *path)
{
	struct stat status;
	mode_t type = S_IFREG;

	switch (random_below(12)) {
	case 0:
	case 1:
		type = S_IFDIR;
		if (mkdir(path, 0700))
			fail(path, "cannot make a directory");
		if (strlen(path) < MAXIMUM_PATH_BYTES)
			paths_add(&directories, path);
		return; /* its metadata follow when it is full */
	case 2:
		type = S_IFLNK;
		make_symlink(path);
		break;
	case 3:
		type = make_special(path);
		break;
	case 4:
		if (linkable.count && !link(linkable.list[random_below(linkable.count)], path)) {
			made++;
			return;
		}
		make_file(path, 0);
		break;
	case 5:
		make_sparse_file(path);
		break;
	default:
		make_file(path, random_size(options.largest_bytes));
	}
	if (lstat(path, &status))
		return; /* left out */
	made++;
	write_metadata(path, type);
	if (one_in(3))
		paths_add(&linkable, path);
}

static void make_mixed(void)
{
	paths_add(&directories, "");
	for (uint64_t i = 0; i < options.files; i++) {
		char path[PATH_MAX];
		/* half of the entries in the newest directories, so that the tree becomes deep as well as wide */
		uint32_t newest = directories.count < 4 ? directories.count : 4;
		uint32_t directory =
			one_in(2) ? directories.count - 1 - random_below(newest) : random_below(directories.count);

		join(path, directories.list[directory], random_name(i));
		make_mixed_entry(path);
	}
	while (directories.count) { /* the innermost first, the root last */
		const char *directory = directories.list[--directories.count];

		write_metadata(*directory ? directory : ".", S_IFDIR);
		made++;
	}
}

static void make_directory(const char *name)
{
	if (mkdir(name, 0755))
		fail(name, "cannot make a directory");
	made++;
}

static void make_one_directory(void)
{
	make_directory("one");
	for (uint64_t i = 0; i < options.files; i++) {
		char name[300];

		if (options.name_bytes)
			snprintf(name, sizeof(name), "one/%0*" PRIu64, (int)options.name_bytes, i);
		else
			snprintf(name, sizeof(name), "one/%.*s%" PRIu64, (int)random_below(30),
			         "name-of-some-length-or-another-", i);
		make_file(name, random_below(100));
		made++;
	}
}

static void make_subdirectories(void)
{
	make_directory("many");
	for (uint64_t i = 0; i < options.files; i++) {
		char name[64];

		snprintf(name, sizeof(name), "many/directory-%" PRIu64, i);
		make_directory(name);
	}
}

static void make_spread(const char *directory, void (*make)(const char *name))
{
	for (uint64_t i = 0; i < options.files; i++) {
		char name[100];

		if (i % FILES_EACH == 0) {
			snprintf(name, sizeof(name), "%s-%" PRIu64, directory, i / FILES_EACH);
			make_directory(name);
		}
		snprintf(name, sizeof(name), "%s-%" PRIu64 "/file-%" PRIu64, directory, i / FILES_EACH, i);
		make(name);
		made++;
	}
}

static void make_small_file(const char *name)
{
	make_file(name, random_below(4096));
}

static void make_large_file(const char *name)
{
	make_file(name, (UINT64_C(2) << 20) + random_below(UINT64_C(30) << 20));
}

/* One file with many names. */
static void make_links(void)
{
	make_directory("links");
	make_file("links/0", 1000);
	made++;
	for (uint64_t i = 1; i < options.files; i++) {
		char name[64];

		snprintf(name, sizeof(name), "links/%" PRIu64, i);
		if (link("links/0", name))
			fail(name, "cannot link");
		made++;
	}
}

/* File N has one xattr of N bytes: every size from nothing to what one block holds, and past it. */
static void make_xattr_sizes(void)
{
	static char value[65536];

	make_directory("sizes");
	for (uint64_t i = 0; i < options.files; i++) {
		char name[64];

		snprintf(name, sizeof(name), "sizes/%" PRIu64, i);
		make_file(name, 0);
		fill_random(value, i);
		optional(setxattr(name, "user.a", value, i, 0), name, "cannot set an xattr");
		made++;
	}
}

/* Paths that no system call takes whole: 20 names of 255 bytes, then 500 levels. */
static void make_deep(void)
{
	for (uint64_t level = 0; level < 520; level++) {
		char name[256];

		memset(name, 'd', sizeof(name) - 1);
		name[level < 20 ? 255 : 1] = '\0';
		make_file("file", random_below(5000));
		write_metadata("file", S_IFREG);
		make_directory(name);
		if (chdir(name))
			fail(name, "cannot enter");
		made++;
	}
}

static void make_sparse(void)
{
	make_spread("sparse", make_sparse_file);
}

static void make_small(void)
{
	make_spread("small", make_small_file);
}

static void make_large(void)
{
	make_spread("large", make_large_file);
}

static const struct {
	const char *name;
	void (*make)(void);
} kinds[] = {
	{ "mixed", make_mixed },
	{ "one-directory", make_one_directory },
	{ "subdirectories", make_subdirectories },
	{ "links", make_links },
	{ "deep", make_deep },
	{ "xattr-sizes", make_xattr_sizes },
	{ "sparse", make_sparse },
	{ "small", make_small },
	{ "large", make_large },
	{ NULL, NULL },
};

static const char usage[] =
	"usage: make_tree DIR [--seed=N] [--files=N] [--xattr-bytes=N] [--largest-bytes=N] [--longest-link=N] "
	"[--no-zeros] [--name-bytes=N]\n"
	"       [--kind=mixed|one-directory|subdirectories|links|deep|sparse|small|large|xattr-sizes]\n";

__attribute__((noreturn)) static void wrong_usage(void)
{
	fputs(usage, stderr);
	exit(2);
}

static void read_options(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "seed", required_argument, NULL, 0 },
		{ "files", required_argument, NULL, 1 },
		{ "xattr-bytes", required_argument, NULL, 2 },
		{ "largest-bytes", required_argument, NULL, 3 },
		{ "longest-link", required_argument, NULL, 4 },
		{ "kind", required_argument, NULL, 5 },
		{ "no-zeros", no_argument, NULL, 7 },
		{ "name-bytes", required_argument, NULL, 6 },
		{ NULL, 0, NULL, 0 },
	};
	uint64_t *const numbers[] = {
		[0] = &options.seed,          [1] = &options.files,        [2] = &options.xattr_bytes,
		[3] = &options.largest_bytes, [4] = &options.longest_link, [6] = &options.name_bytes
	};

	for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
		if (option == '?')
			wrong_usage();
		else if (option == 5)
			options.kind = optarg;
		else if (option == 7)
			options.no_zeros = true;
		else
			*numbers[option] = strtoull(optarg, NULL, 0);
	}
	if (argc - optind != 1)
		wrong_usage();
}

int main(int argc, char **argv)
{
	read_options(argc, argv);
	random_state = options.seed;
	umask(022);
	const char *directory = argv[optind];

	if ((mkdir(directory, 0755) && errno != EEXIST) || chdir(directory))
		fail(directory, "cannot make");
	for (size_t i = 0; kinds[i].name; i++) {
		if (!strcmp(options.kind, kinds[i].name)) {
			kinds[i].make();
			printf("%s: %" PRIu64 " entries of kind %s, seed %" PRIu64 ", %" PRIu64 " things left out\n",
			       directory, made, options.kind, options.seed, left_out);
			return 0;
		}
	}
	wrong_usage();
}
