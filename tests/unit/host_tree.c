/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "assertions.h"
#include "support/vector.h"
#include "tree_check.h"

static char top[PATH_MAX];

void host_tree_begin(void)
{
	const char *place = getenv("TMPDIR");

	if ((size_t)snprintf(top, sizeof(top), "%s/ext2mb-XXXXXX", place ? place : "/tmp") >= sizeof(top) ||
	    !mkdtemp(top) || chmod(top, 0755)) {
		perror(top);
		exit(EXIT_FAILURE);
	}
}

void host_tree_end(void)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	if (system(command))
		exit(EXIT_FAILURE);
}

char *host_tree_directory(void)
{
	char *path;

	ck_assert_int_gt(asprintf(&path, "%s/XXXXXX", top), 0);
	ck_assert_ptr_nonnull(mkdtemp(path));
	ck_assert_int_eq(chmod(path, 0755), 0);
	return path;
}

const char *host_tree_below(const char *directory, const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned int next;
	char *path = paths[next++ % 4];

	ck_assert_int_lt(snprintf(path, PATH_MAX, "%s/%s", directory, name), PATH_MAX);
	return path;
}

void host_tree_write(const char *path, const char *text)
{
	SCOPE_CLOSE int descriptor = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);

	ck_assert_int_eq(write(descriptor, text, strlen(text)), (ssize_t)strlen(text));
}

void host_tree_expect_text(struct content_reader *reader, uint32_t node, const char *expected)
{
	struct problem problem = { 0 };
	char text[100] = "";

	ck_assert_int_eq(content_reader_open(reader, node, &problem), 0);
	int descriptor = content_reader_map(reader, 0).descriptor;

	ck_assert_int_eq(read(descriptor, text, sizeof(text)), (ssize_t)strlen(expected));
	ck_assert_str_eq(text, expected);
	ck_assert_int_eq(fcntl(descriptor, F_GETFD), FD_CLOEXEC);
}

struct builder {
	struct random *random;
	char **directories;
	char **files; /* whatever can have another name */
	size_t directory_count, file_count, capacity, file_capacity;
};

static void remember(char ***list, size_t *count, size_t *capacity, char *path)
{
	ck_assert_int_eq(vector_reserve(list, capacity, *count + 1, sizeof(**list)), 0);
	(*list)[(*count)++] = path;
}

/* Names of all lengths and of all bytes, many with equal beginnings. */
static char *random_path(struct builder *builder)
{
	struct random *random = builder->random;
	const char *directory = builder->directories[random_below(random, builder->directory_count)];
	size_t length = random_below(random, 20) ? 1 + random_below(random, 12) : 1 + random_below(random, 255);
	char *path = malloc(strlen(directory) + length + 2);
	char *name = path + sprintf(path, "%s/", directory);
	bool is_plain = random_below(random, 4);

	for (size_t i = 0; i < length; i++) {
		char byte = (char)(is_plain ? 'a' + random_below(random, 2) : 1 + random_below(random, 255));

		name[i] = byte == '/' || byte == '.' ? '_' : byte;
	}
	name[length] = '\0';
	return path;
}

static void make_regular(struct random *random, const char *path)
{
	static const off_t step = 65536;
	SCOPE_CLOSE int descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600 + random_below(random, 0200));
	off_t size = (off_t)(random_below(random, 4) ? random_below(random, 3000) : random_below(random, 20) * step);

	ck_assert_int_ge(descriptor, 0);
	ck_assert_int_eq(ftruncate(descriptor, size), 0);
	for (off_t at = 0; at < size; at += step)
		if (random_below(random, 2))
			ck_assert_int_eq(pwrite(descriptor, path, 1, at), 1);
}

static bool make_entry(struct builder *builder, const char *path)
{
	struct random *random = builder->random;
	struct stat status;

	if (!lstat(path, &status))
		return false;
	switch (random_below(random, 16)) {
	case 0:
	case 1:
		ck_assert_int_eq(mkdir(path, 0700), 0);
		remember(&builder->directories, &builder->directory_count, &builder->capacity, strdup(path));
		return true;
	case 2:
		ck_assert_int_eq(symlink(random_below(random, 2) ? "../short" : path, path), 0);
		break;
	case 3:
		ck_assert_int_eq(mkfifo(path, 0604), 0);
		break;
	case 4:
		if (mknod(path, random_below(random, 2) ? S_IFCHR | 0600 : S_IFBLK | 0640,
		          makedev(random_below(random, 300), random_below(random, 5000))))
			ck_assert_int_eq(errno, EPERM);
		else
			break;
		/* fallthrough */
	case 5:
		ck_assert_int_eq(mknod(path, S_IFSOCK | 0755, 0), 0);
		break;
	case 6:
	case 7:
		if (builder->file_count) {
			const char *file = builder->files[random_below(random, builder->file_count)];

			if (linkat(AT_FDCWD, file, AT_FDCWD, path, 0))
				ck_assert_int_eq(errno, EPERM);
			return true;
		}
		/* fallthrough */
	default:
		make_regular(random, path);
	}
	remember(&builder->files, &builder->file_count, &builder->file_capacity, strdup(path));
	return true;
}

/* Times, owners and xattrs; those that the host or the user may not set are left as they are. */
static void decorate(struct random *random, const char *path)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		                           { (time_t)random_below(random, 1 << 30),
		                             (long)random_below(random, 1000000000) } };
	char name[32], value[200];
	struct stat status;

	ck_assert_int_eq(lstat(path, &status), 0);
	if (!geteuid())
		ck_assert_int_eq(lchown(path, (uid_t)random_below(random, 100000), (gid_t)random_below(random, 100)),
		                 0);
	if (!random_below(random, 4)) {
		uint64_t count = random_below(random, 4);

		for (uint64_t i = 0; i < count; i++) {
			const char *space = S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) ? "user" : "trusted";

			snprintf(name, sizeof(name), "%s.%c", space, (char)('z' - random_below(random, 3)));
			memset(value, 'v', sizeof(value));
			(void)!lsetxattr(path, name, value, random_below(random, 3) * 99, 0);
		}
	}
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void free_list(char **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i]);
	free(list);
}

void host_tree_make(struct random *random, const char *path, unsigned int entries)
{
	struct builder builder = { .random = random };

	remember(&builder.directories, &builder.directory_count, &builder.capacity, strdup(path));
	while (entries) {
		SCOPE_FREE char *entry = random_path(&builder);

		if (strlen(entry) < PATH_MAX - 300 && make_entry(&builder, entry)) {
			struct stat status;

			if (!lstat(entry, &status))
				decorate(random, entry);
			entries--;
		}
	}
	free_list(builder.directories, builder.directory_count);
	free_list(builder.files, builder.file_count);
}

errcode_t host_tree_try(const char *path, const struct scan_options *options, struct pool *pool, struct tree **tree,
                        struct problem *problem)
{
	static const struct scan_options defaults;
	struct source source = { .kind = &directory_source, .path = path };

	return source_scan(&source, options ? options : &defaults, pool, tree, problem);
}

struct tree *host_tree_scan(const char *path, const struct scan_options *options, unsigned int threads)
{
	struct problem problem = { 0 };
	struct tree *tree;
	struct pool *pool;
	char why[300] = "";

	ck_assert_int_eq(pool_create(threads, &pool), 0);
	if (host_tree_try(path, options, pool, &tree, &problem)) {
		SCOPE_FREE char *text = problem_text(&problem);

		ck_abort_msg("%u threads: %s", threads, text);
	}
	pool_destroy(pool);
	ck_assert_msg(tree_check(tree, why, sizeof(why)), "%u threads: %s", threads, why);
	ck_assert_str_eq(tree->origins[0].path, path);
	return tree;
}

void host_tree_expect_failure(const char *path, unsigned int threads, errcode_t expected, const char *expected_path,
                              const char *words)
{
	struct problem problem = { 0 };
	struct tree *tree = (struct tree *)1;
	struct pool *pool;

	ck_assert_int_eq(pool_create(threads, &pool), 0);
	ck_assert_int_eq(host_tree_try(path, NULL, pool, &tree, &problem), expected);
	pool_destroy(pool);
	ck_assert_ptr_null(tree);
	ck_assert_int_eq(problem.error, expected);
	if (expected_path)
		ck_assert_str_eq(problem.path, expected_path);
	SCOPE_FREE char *text = problem_text(&problem);

	if (words)
		ck_assert_msg(strstr(text, words), "%s", text);
	problem_clear(&problem);
}

static void expect_equal_nodes(const struct tree_node *one, const struct tree_node *other, uint32_t number)
{
	bool same = one->name_bytes == other->name_bytes && !strcmp(one->name, other->name) &&
	            one->is_sparse == other->is_sparse && one->mode == other->mode && one->parent == other->parent &&
	            one->first_child == other->first_child && one->child_count == other->child_count &&
	            one->link_to == other->link_to && one->links == other->links && one->uid == other->uid &&
	            one->gid == other->gid && one->mtime_seconds == other->mtime_seconds &&
	            one->mtime_nanoseconds == other->mtime_nanoseconds && one->xattrs == other->xattrs &&
	            one->size_bytes == other->size_bytes;

	if (same && S_ISLNK(one->mode))
		same = !strcmp(one->target, other->target);
	if (same && (S_ISCHR(one->mode) || S_ISBLK(one->mode)))
		same = one->device.major == other->device.major && one->device.minor == other->device.minor;
	if (same && one->is_sparse)
		same = one->data_map->count == other->data_map->count &&
		       !memcmp(one->data_map->segments, other->data_map->segments,
		               one->data_map->count * sizeof(struct tree_segment));
	ck_assert_msg(same, "nodes %u (%s) and (%s) differ", number, one->name, other->name);
}

void host_tree_expect_equal(const struct tree *one, const struct tree *other)
{
	ck_assert_uint_eq(one->node_count, other->node_count);
	for (uint32_t i = 0; i < one->node_count; i++)
		expect_equal_nodes(&one->nodes[i], &other->nodes[i], i);
	ck_assert_uint_eq(one->xattr_set_count, other->xattr_set_count);
	for (uint32_t i = 0; i < one->xattr_set_count; i++) {
		const struct tree_xattr_set *set = &one->xattr_sets[i], *twin = &other->xattr_sets[i];

		ck_assert_uint_eq(set->count, twin->count);
		ck_assert_uint_eq(set->hash, twin->hash);
		for (uint32_t k = 0; k < set->count; k++) {
			ck_assert_str_eq(set->list[k].name, twin->list[k].name);
			ck_assert_uint_eq(set->list[k].value_bytes, twin->list[k].value_bytes);
			ck_assert_mem_eq(set->list[k].value, twin->list[k].value, set->list[k].value_bytes);
		}
	}
}

static void expect_true_xattrs(const struct tree *tree, uint32_t number, const char *path)
{
	const struct tree_xattr_set *set = &tree->xattr_sets[tree->nodes[number].xattrs];
	char names[4096], value[4096];
	ssize_t bytes = llistxattr(path, names, sizeof(names));
	uint32_t count = 0;

	for (ssize_t at = 0; at < bytes; at += (ssize_t)strlen(names + at) + 1)
		count++;
	ck_assert_uint_eq(set->count, count);
	for (uint32_t i = 0; i < set->count; i++) {
		const struct tree_xattr *xattr = &set->list[i];

		ck_assert_int_eq(lgetxattr(path, xattr->name, value, sizeof(value)), xattr->value_bytes);
		ck_assert_mem_eq(xattr->value, value, xattr->value_bytes);
	}
}

static void expect_true_node(const struct tree *tree, uint32_t number)
{
	const struct tree_node *node = &tree->nodes[number];
	SCOPE_FREE char *path = tree_path(tree, number);
	struct stat status;
	char target[PATH_MAX];

	ck_assert_int_eq(lstat(path, &status), 0);
	ck_assert_uint_eq(node->mode, status.st_mode);
	ck_assert_uint_eq(node->uid, status.st_uid);
	ck_assert_uint_eq(node->gid, status.st_gid);
	ck_assert_int_eq(node->mtime_seconds, status.st_mtim.tv_sec);
	ck_assert_uint_eq(node->mtime_nanoseconds, (unsigned long)status.st_mtim.tv_nsec);
	/* All names of these files are in the tree. */
	if (!S_ISDIR(node->mode))
		ck_assert_uint_eq(tree->nodes[node->link_to].links, status.st_nlink);
	if (S_ISREG(node->mode))
		ck_assert_uint_eq(node->size_bytes, (uint64_t)status.st_size);
	if (S_ISLNK(node->mode)) {
		ck_assert_int_eq(readlink(path, target, sizeof(target)), (ssize_t)node->size_bytes);
		ck_assert_mem_eq(node->target, target, node->size_bytes);
	}
	if (S_ISCHR(node->mode) || S_ISBLK(node->mode))
		ck_assert_uint_eq(makedev(node->device.major, node->device.minor), status.st_rdev);
	if (tree_node_is_link(tree, number)) {
		SCOPE_FREE char *other = tree_path(tree, node->link_to);
		struct stat first;

		ck_assert_int_eq(lstat(other, &first), 0);
		ck_assert_uint_eq(first.st_ino, status.st_ino);
	}
	expect_true_xattrs(tree, number, path);
	if (S_ISDIR(node->mode)) {
		SCOPE_CLOSEDIR DIR *directory = opendir(path);
		uint32_t count = 0;

		while (readdir(directory))
			count++;
		ck_assert_uint_eq(count, node->child_count + 2);
	}
}

void host_tree_expect_true(const struct tree *tree)
{
	for (uint32_t i = 0; i < tree->node_count; i++)
		expect_true_node(tree, i);
}

uint32_t host_tree_find(const struct tree *tree, const char *path)
{
	/* "directory/name", "archive: name" */
	size_t separator_bytes = tree->origins[0].contents->begins_in_blocks ? 1 : 2;

	for (uint32_t i = 0; i < tree->node_count; i++) {
		SCOPE_FREE char *whole = tree_path(tree, i);

		if (!strcmp(whole + strlen(tree->origins[0].path) + separator_bytes * (i != TREE_ROOT), path))
			return i;
	}
	ck_abort_msg("%s: not in the tree", path);
	return TREE_ROOT;
}
