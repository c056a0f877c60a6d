/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/archive_kind.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "host_tree.h"
#include "source/kind/stored_contents.h"
#include "source/sources.h"
#include "tree_check.h"
#include "unit.h"

#define MAXIMUM_ARCHIVE_BYTES ((size_t)64 << 20)

/* An archive in memory. */
struct written {
	struct archive *archive;
	char *bytes;
	size_t used;
};

static void begin_archive(struct written *written, int format, int filter, const char *options)
{
	written->archive = archive_write_new();
	written->bytes = malloc(MAXIMUM_ARCHIVE_BYTES);
	ck_assert_int_eq(archive_write_set_format(written->archive, format), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_add_filter(written->archive, filter), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_set_options(written->archive, options), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_set_bytes_per_block(written->archive, 0), ARCHIVE_OK);
	ck_assert_int_eq(
		archive_write_open_memory(written->archive, written->bytes, MAXIMUM_ARCHIVE_BYTES, &written->used),
		ARCHIVE_OK);
}

static void end_archive(struct written *written)
{
	ck_assert_int_eq(archive_write_close(written->archive), ARCHIVE_OK);
	archive_write_free(written->archive);
}

static void put_file(const char *path, const char *bytes, size_t count)
{
	SCOPE_CLOSE int descriptor = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);

	ck_assert_int_eq(write(descriptor, bytes, count), (ssize_t)count);
}

/* NULL after a failure, which must be told. */
static struct tree *scan_archive(const char *path, const struct archive_kind *kind, unsigned int threads)
{
	struct scan_options options = { 0 };
	struct problem problem = { 0 };
	struct tree *tree;
	struct pool *pool;
	struct source source = { .kind = &archive_source, .path = path, .archive = kind };
	char directory[PATH_MAX], why[300] = "";

	snprintf(directory, sizeof(directory), "%s", path);
	*strrchr(directory, '/') = '\0';
	options.spool_directory = directory;
	ck_assert_int_eq(pool_create(threads, &pool), 0);
	errcode_t error = source_scan(&source, &options, pool, &tree, &problem);

	pool_destroy(pool);
	warnings_clear(&source.warnings);
	ck_assert_int_eq(error, problem.error);
	ck_assert_int_eq(!error, tree != NULL);
	if (error) {
		SCOPE_FREE char *text = problem_text(&problem);

		ck_assert_ptr_nonnull(problem.path);
		printf("# %s\n", text);
	}
	problem_clear(&problem);
	ck_assert_msg(!tree || tree_check(tree, why, sizeof(why)), "%s", why);
	return tree;
}

static void read_contents(const struct tree *tree, uint32_t node, char *bytes)
{
	struct problem problem = { 0 };
	struct content_reader *reader;

	ck_assert_int_eq(content_reader_create(tree, &reader), 0);
	ck_assert_int_eq(content_reader_open(reader, node, &problem), 0);
	ck_assert_int_eq(content_reader_read(reader, bytes, tree->nodes[node].size_bytes, 0, &problem), 0);
	content_reader_destroy(reader);
}

static void set_attributes(struct archive_entry *entry, const struct tree *tree, const struct tree_node *node)
{
	const struct tree_xattr_set *set = &tree->xattr_sets[node->xattrs];

	archive_entry_set_mode(entry, node->mode);
	archive_entry_set_uid(entry, node->uid);
	archive_entry_set_gid(entry, node->gid);
	archive_entry_set_mtime(entry, node->mtime_seconds, node->mtime_nanoseconds);
	for (uint32_t i = 0; i < set->count; i++)
		archive_entry_xattr_add_entry(entry, set->list[i].name, set->list[i].value, set->list[i].value_bytes);
	if (S_ISLNK(node->mode))
		archive_entry_set_symlink(entry, node->target);
	if (S_ISCHR(node->mode) || S_ISBLK(node->mode)) {
		archive_entry_set_rdevmajor(entry, node->device.major);
		archive_entry_set_rdevminor(entry, node->device.minor);
	}
	/* Before the segments, which are checked against it. */
	archive_entry_set_size(entry, S_ISREG(node->mode) ? (la_int64_t)node->size_bytes : 0);
	for (uint32_t i = 0; node->is_sparse && i < node->data_map->count; i++)
		archive_entry_sparse_add_entry(entry, (la_int64_t)node->data_map->segments[i].start_bytes,
		                               (la_int64_t)node->data_map->segments[i].length_bytes);
	if (node->is_sparse && !node->data_map->count)
		archive_entry_sparse_add_entry(entry, 0, 0);
}

static char *path_in_archive(const struct tree *tree, uint32_t node)
{
	SCOPE_FREE char *path = tree_path(tree, node);
	char *name;

	ck_assert_int_gt(asprintf(&name, ".%s", path + strlen(tree->origins[0].path)), 0);
	return name;
}

static void write_node(struct written *written, const struct tree *tree, uint32_t number)
{
	const struct tree_node *node = &tree->nodes[number];
	struct archive_entry *entry = archive_entry_new();
	SCOPE_FREE char *path = path_in_archive(tree, number);
	SCOPE_FREE char *first = path_in_archive(tree, node->link_to);

	archive_entry_copy_pathname(entry, path);
	set_attributes(entry, tree, node);
	if (node->link_to != number) {
		archive_entry_copy_hardlink(entry, first);
		archive_entry_set_size(entry, 0);
	}
	int result = archive_write_header(written->archive, entry);

	ck_assert_msg(result == ARCHIVE_OK || result == ARCHIVE_WARN, "%s: %s", path,
	              archive_error_string(written->archive));
	if (S_ISREG(node->mode) && node->link_to == number && node->size_bytes) {
		SCOPE_FREE char *bytes = malloc(node->size_bytes);

		read_contents(tree, number, bytes);
		ck_assert_int_eq(archive_write_data(written->archive, bytes, node->size_bytes),
		                 (la_ssize_t)node->size_bytes);
	}
	archive_entry_free(entry);
}

/*
 * What libarchive (3.6.2) cannot write: sockets; a pax time before 1970 with a fraction (it writes another); long
 * names of sparse files (it cuts them).
 */
static void make_writable(struct tree *tree)
{
	for (uint32_t i = 0; i < tree->node_count; i++) {
		struct tree_node *node = &tree->nodes[i];

		if (S_ISSOCK(node->mode))
			node->mode = (uint16_t)(S_IFIFO | (node->mode & 07777));
		if (node->mtime_seconds < 0)
			node->mtime_nanoseconds = 0;
		SCOPE_FREE char *path = path_in_archive(tree, node->link_to);

		if (strlen(path) > 80 && node->is_sparse) {
			node->is_sparse = false;
			node->contents = 0;
		}
	}
}

/* In any order, but names of a file after the first one. */
static void write_shuffled(struct written *written, const struct tree *tree, struct random *random)
{
	SCOPE_FREE uint32_t *order = malloc(tree->node_count * sizeof(*order));
	SCOPE_FREE bool *is_written = calloc(tree->node_count, sizeof(*is_written));

	for (uint32_t i = 0; i < tree->node_count; i++)
		order[i] = i;
	for (uint32_t i = tree->node_count - 1; i; i--) {
		uint32_t other = (uint32_t)random_below(random, i + 1), kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
	for (uint32_t i = 0; i < tree->node_count; i++) {
		uint32_t first = tree->nodes[order[i]].link_to;

		if (!is_written[first])
			write_node(written, tree, first);
		is_written[first] = true;
		if (!is_written[order[i]])
			write_node(written, tree, order[i]);
		is_written[order[i]] = true;
	}
}

static void expect_equal_contents(const struct tree *one, const struct tree *other)
{
	for (uint32_t i = 0; i < one->node_count; i++) {
		const struct tree_node *node = &one->nodes[i];

		if (!S_ISREG(node->mode) || node->link_to != i || !node->size_bytes)
			continue;
		SCOPE_FREE char *first = malloc(node->size_bytes);
		SCOPE_FREE char *second = malloc(node->size_bytes);

		read_contents(one, i, first);
		read_contents(other, i, second);
		ck_assert_mem_eq(first, second, node->size_bytes);
	}
}

START_TEST(an_archive_in_any_order_is_the_tree_it_was_made_of)
{
	static const int filters[] = { ARCHIVE_FILTER_NONE, ARCHIVE_FILTER_GZIP };
	struct random random = random_start("archive_source");

	random.state += (uint64_t)_i << 32;

	SCOPE_FREE char *directory = host_tree_directory();
	SCOPE_FREE char *path = strdup(host_tree_below(directory, "archive"));
	char *source = strdup(host_tree_below(directory, "source"));
	struct written written;

	ck_assert_int_eq(mkdir(source, 0755), 0);
	host_tree_make(&random, source, 200);
	struct tree *tree = host_tree_scan(source, NULL, 2);

	make_writable(tree);
	begin_archive(&written, ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE, filters[_i % 2], NULL);
	write_shuffled(&written, tree, &random);
	end_archive(&written);
	put_file(path, written.bytes, written.used);
	free(written.bytes);
	for (unsigned int threads = 0; threads <= 2; threads += 2) {
		struct tree *found = scan_archive(path, &archive_kind_common, threads);

		ck_assert_ptr_nonnull(found);
		host_tree_expect_equal(tree, found);
		expect_equal_contents(tree, found);
		tree_destroy(found);
	}
	tree_destroy(tree);
	free(source);
}
END_TEST

static const struct {
	const char *path, *contents; /* NULL: a directory */
} files[] = { { "d", NULL }, { "d/empty", "" }, { "d/file", "contents" }, { "e", "some more contents" } };

#define FILES (sizeof(files) / sizeof(*files))

static const struct {
	int format;
	const char *named; /* NULL: it needs no name */
} formats[] = {
	{ ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE, NULL },
	{ ARCHIVE_FORMAT_TAR_USTAR, NULL },
	{ ARCHIVE_FORMAT_TAR_GNUTAR, "tar:" },
	{ ARCHIVE_FORMAT_CPIO_SVR4_NOCRC, NULL },
	{ ARCHIVE_FORMAT_CPIO_POSIX, "cpio:" },
	{ ARCHIVE_FORMAT_ZIP, NULL },
	{ ARCHIVE_FORMAT_ZIP, "zip:" },
	{ ARCHIVE_FORMAT_7ZIP, "7z:" },
	{ ARCHIVE_FORMAT_ISO9660, "iso:" },
	{ ARCHIVE_FORMAT_XAR, "xar:" },
};

#define FORMATS (sizeof(formats) / sizeof(*formats))

static const struct archive_kind *kind_of_prefix(const char *prefix)
{
	struct source source = { .path = prefix };

	return archive_kind_of_prefix(&source);
}

static const struct archive_kind *kind_of(size_t format)
{
	return formats[format].named ? kind_of_prefix(formats[format].named) : &archive_kind_common;
}

static void write_files(struct written *written, int format, int filter)
{
	begin_archive(written, format, filter, NULL);
	for (size_t i = 0; i < FILES; i++) {
		struct archive_entry *entry = archive_entry_new();
		size_t bytes = files[i].contents ? strlen(files[i].contents) : 0;

		archive_entry_copy_pathname(entry, files[i].path);
		archive_entry_set_mode(entry, files[i].contents ? S_IFREG | 0640 : S_IFDIR | 0755);
		archive_entry_set_size(entry, (la_int64_t)bytes);
		archive_entry_set_mtime(entry, 1000000000, 0);
		ck_assert_int_eq(archive_write_header(written->archive, entry), ARCHIVE_OK);
		ck_assert_int_eq(archive_write_data(written->archive, files[i].contents, bytes), (la_ssize_t)bytes);
		archive_entry_free(entry);
	}
	end_archive(written);
}

static void expect_files(const char *path, const struct archive_kind *kind)
{
	struct tree *tree = scan_archive(path, kind, 0);

	ck_assert_ptr_nonnull(tree);
	ck_assert_uint_eq(tree->node_count, FILES + 1);
	for (size_t i = 0; i < FILES; i++) {
		uint32_t number = host_tree_find(tree, files[i].path);
		const struct tree_node *node = &tree->nodes[number];
		char contents[100] = "";

		ck_assert_int_eq(node->mtime_seconds, 1000000000);
		ck_assert_int_eq(!files[i].contents, S_ISDIR(node->mode));
		if (!files[i].contents)
			continue;
		ck_assert_uint_eq(node->size_bytes, strlen(files[i].contents));
		/* libarchive writes 0444 into an ISO 9660. */
		ck_assert_int_eq(node->mode & 0740 & ~0200, 0440);
		read_contents(tree, number, contents);
		ck_assert_str_eq(contents, files[i].contents);
	}
	tree_destroy(tree);
}

START_TEST(formats_and_filters_are_read)
{
	static const int filters[] = {
		ARCHIVE_FILTER_NONE,     ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_BZIP2,
		ARCHIVE_FILTER_COMPRESS, ARCHIVE_FILTER_XZ,   ARCHIVE_FILTER_LZMA,
		ARCHIVE_FILTER_LZIP,     ARCHIVE_FILTER_LZ4,  ARCHIVE_FILTER_ZSTD,
	};
	SCOPE_FREE char *directory = host_tree_directory();
	SCOPE_FREE char *path = strdup(host_tree_below(directory, "archive"));

	for (size_t i = 0; i < FORMATS + sizeof(filters) / sizeof(*filters); i++) {
		struct written written;

		write_files(&written, i < FORMATS ? formats[i].format : formats[0].format,
		            i < FORMATS ? ARCHIVE_FILTER_NONE : filters[i - FORMATS]);
		put_file(path, written.bytes, written.used);
		free(written.bytes);
		expect_files(path, kind_of(i < FORMATS ? i : 0));
	}
}
END_TEST

/* Formats that store UTF-16 give UTF-8, whatever the locale is; libarchive can write them in such a one only. */
START_TEST(names_in_utf16_become_utf8)
{
	static const char name[] = "\303\251\342\202\254";
	SCOPE_FREE char *directory = host_tree_directory();
	SCOPE_FREE char *path = strdup(host_tree_below(directory, "archive"));
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0), before = uselocale(utf8);
	struct archive_entry *entry = archive_entry_new();
	struct written written;

	begin_archive(&written, ARCHIVE_FORMAT_7ZIP, ARCHIVE_FILTER_NONE, NULL);
	archive_entry_copy_pathname(entry, name);
	archive_entry_set_mode(entry, S_IFDIR | 0755);
	ck_assert_int_eq(archive_write_header(written.archive, entry), ARCHIVE_OK);
	archive_entry_free(entry);
	end_archive(&written);
	uselocale(before);
	put_file(path, written.bytes, written.used);
	free(written.bytes);
	struct tree *tree = scan_archive(path, kind_of_prefix("7z:"), 0);

	ck_assert_ptr_nonnull(tree);
	ck_assert_str_eq(tree->nodes[1].name, name);
	ck_assert_ptr_eq(uselocale((locale_t)0), before);
	tree_destroy(tree);
	freelocale(utf8);
}
END_TEST

#define STORED_BYTES ((size_t)1 << 20) /* several buffers */
#define ZIP_END_BYTES 22               /* of the record that a zip is known and sought in by */

/* A zip of one member as it is; without a size the member ends where a signature says so. */
static void write_stored_zip(struct written *written, const char *bytes, bool has_size)
{
	struct archive_entry *entry = archive_entry_new();

	begin_archive(written, ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE, "zip:compression=store");
	archive_entry_copy_pathname(entry, "member");
	archive_entry_set_mode(entry, S_IFREG | 0644);
	if (has_size)
		archive_entry_set_size(entry, STORED_BYTES);
	ck_assert_int_eq(archive_write_header(written->archive, entry), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_data(written->archive, bytes, STORED_BYTES), STORED_BYTES);
	archive_entry_free(entry);
	end_archive(written);
}

static void check_stored_zip(bool has_size, uint32_t origins)
{
	struct random random = random_start("archive_source");
	SCOPE_FREE char *directory = host_tree_directory();
	SCOPE_FREE char *path = strdup(host_tree_below(directory, "archive"));
	SCOPE_FREE char *bytes = malloc(STORED_BYTES);
	SCOPE_FREE char *found = malloc(STORED_BYTES);
	struct written written;

	for (size_t i = 0; i < STORED_BYTES; i++)
		bytes[i] = (char)random_next(&random);
	write_stored_zip(&written, bytes, has_size);
	put_file(path, written.bytes, written.used - (has_size ? 0 : ZIP_END_BYTES));
	free(written.bytes);
	struct tree *tree = scan_archive(path, &archive_kind_common, 0);

	ck_assert_ptr_nonnull(tree);
	ck_assert_uint_eq(tree->nodes[1].size_bytes, STORED_BYTES);
	read_contents(tree, 1, found);
	ck_assert_mem_eq(bytes, found, STORED_BYTES);
	ck_assert_uint_eq(tree->origin_count, origins);
	tree_destroy(tree);
}

/* In a format that is sought in: the archive stays the only origin. */
START_TEST(a_stored_member_stays_where_it_is)
{
	check_stored_zip(true, 1);
}
END_TEST

/*
 * Looking for the signature, libarchive reads ahead over the end of our buffer and hands over 21 bytes of its own; what
 * was found in the archive until then, nearly a buffer, moves to the temporary file after all.
 */
START_TEST(a_member_found_only_in_part_moves)
{
	check_stored_zip(false, 2);
}
END_TEST

static void damage(struct random *random, char *bytes, size_t *count)
{
	for (uint64_t flips = random_below(random, 4) + 1; flips; flips--)
		bytes[random_below(random, *count)] ^= (char)(1 << random_below(random, 8));
	if (random_below(random, 4) == 0)
		*count = random_below(random, *count) + 1;
}

/* Whatever it is, it is a tree or an error. */
START_TEST(damaged_archives_do_no_harm)
{
	static const int filters[] = { ARCHIVE_FILTER_NONE, ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_ZSTD };
	struct random random = random_start("archive_source");

	random.state += (uint64_t)_i << 32;

	SCOPE_FREE char *directory = host_tree_directory();
	SCOPE_FREE char *path = strdup(host_tree_below(directory, "archive"));
	struct written written;

	write_files(&written, formats[(size_t)_i % FORMATS].format, filters[(size_t)_i / FORMATS]);
	SCOPE_FREE char *damaged = malloc(written.used);

	for (unsigned int round = 0; round < 200; round++) {
		size_t count = written.used;

		memcpy(damaged, written.bytes, count);
		damage(&random, damaged, &count);
		put_file(path, damaged, count);
		struct tree *tree = scan_archive(path, kind_of((size_t)_i % FORMATS), 0);

		for (uint32_t i = 0; tree && i < tree->node_count; i++) {
			char contents[1000];

			if (S_ISREG(tree->nodes[i].mode) && tree->nodes[i].link_to == i &&
			    tree->nodes[i].size_bytes <= sizeof(contents))
				read_contents(tree, i, contents);
		}
		tree_destroy(tree);
	}
	free(written.bytes);
}
END_TEST

START_TEST(an_archive_that_changes_is_noticed)
{
	SCOPE_FREE char *directory = host_tree_directory();
	SCOPE_FREE char *path = strdup(host_tree_below(directory, "archive"));
	struct problem problem = { 0 };
	struct content_reader *reader;
	struct written written;
	char contents[100];

	write_files(&written, ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_NONE);
	put_file(path, written.bytes, written.used);
	free(written.bytes);
	struct tree *tree = scan_archive(path, &archive_kind_common, 0);
	uint32_t node = host_tree_find(tree, "d/file");

	ck_assert_int_eq(contents_check(tree, &problem), 0);
	ck_assert_int_eq(truncate(path, 600), 0);
	ck_assert_int_eq(contents_check(tree, &problem), EBUSY);
	ck_assert_str_eq(problem.path, path);
	problem_clear(&problem);
	ck_assert_int_eq(content_reader_create(tree, &reader), 0);
	ck_assert_int_eq(content_reader_open(reader, node, &problem), 0);
	ck_assert_int_eq(content_reader_read(reader, contents, tree->nodes[node].size_bytes, 0, &problem), ENODATA);
	ck_assert_ptr_nonnull(strstr(problem.path, "archive: d/file"));
	ck_assert_str_eq(problem.reason, "it has become shorter since it was scanned");
	problem_clear(&problem);
	content_reader_destroy(reader);
	tree_destroy(tree);
}
END_TEST

/* Opens it anew, as for one of very many layers; 0 or the error of doing so. */
static errcode_t open_late(const struct tree *tree, uint32_t node, char *contents)
{
	struct problem problem = { 0 };
	struct content_reader *reader;

	ck_assert_int_eq(content_reader_create(tree, &reader), 0);
	errcode_t error = content_reader_open(reader, node, &problem);

	if (error)
		ck_assert_str_eq(problem.reason, "it has been changed meanwhile");
	else
		ck_assert_int_eq(content_reader_read(reader, contents, tree->nodes[node].size_bytes, 0, &problem), 0);
	problem_clear(&problem);
	content_reader_destroy(reader);
	return error;
}

/* Another file with the same size and times, of the same name. */
static void replace(const char *path)
{
	SCOPE_FREE char *other = NULL, *bytes = NULL;
	struct stat status;

	ck_assert_int_gt(asprintf(&other, "%s.other", path), 0);
	ck_assert_int_eq(stat(path, &status), 0);
	bytes = calloc(1, (size_t)status.st_size);
	put_file(other, bytes, (size_t)status.st_size);
	const struct timespec times[] = { status.st_atim, status.st_mtim };

	ck_assert_int_eq(utimensat(AT_FDCWD, other, times, 0), 0);
	ck_assert_int_eq(rename(other, path), 0);
}

START_TEST(an_archive_that_is_opened_late_is_still_the_same)
{
	SCOPE_FREE char *directory = host_tree_directory();
	SCOPE_FREE char *path = strdup(host_tree_below(directory, "archive"));
	struct problem problem = { 0 };
	struct written written;
	char contents[100], again[100];

	write_files(&written, ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_NONE);
	put_file(path, written.bytes, written.used);
	free(written.bytes);
	struct tree *tree = scan_archive(path, &archive_kind_common, 0);
	uint32_t node = host_tree_find(tree, "d/file");

	ck_assert_uint_le(tree->nodes[node].size_bytes, sizeof(contents));
	ck_assert_int_eq(open_late(tree, node, contents), 0);
	stored_contents_close(stored_contents_of(tree, 0), true);
	ck_assert_int_lt(stored_contents_of(tree, 0)->descriptor, 0);
	ck_assert_int_eq(open_late(tree, node, again), 0);
	ck_assert_mem_eq(again, contents, tree->nodes[node].size_bytes);
	ck_assert_int_eq(contents_check(tree, &problem), 0);
	replace(path);
	ck_assert_int_eq(open_late(tree, node, again), EBUSY);
	ck_assert_int_eq(contents_check(tree, &problem), EBUSY);
	problem_clear(&problem);
	tree_destroy(tree);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("archive_source");
	TCase *tests = tcase_create("archive_source");

	host_tree_begin();
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, an_archive_in_any_order_is_the_tree_it_was_made_of, 0, 6);
	tcase_add_test(tests, formats_and_filters_are_read);
	tcase_add_test(tests, names_in_utf16_become_utf8);
	tcase_add_test(tests, a_stored_member_stays_where_it_is);
	tcase_add_test(tests, a_member_found_only_in_part_moves);
	tcase_add_loop_test(tests, damaged_archives_do_no_harm, 0, 3 * FORMATS);
	tcase_add_test(tests, an_archive_that_changes_is_noticed);
	tcase_add_test(tests, an_archive_that_is_opened_late_is_still_the_same);
	suite_add_tcase(suite, tests);
	int status = run_suite(suite);

	host_tree_end();
	return status;
}
