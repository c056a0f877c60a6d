/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/pack/pack.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "host_tree.h"
#include "seeded_random.h"
#include "source/pack/pack_options.h"
#include "source/pack/pack_places.h"
#include "support/crc32c.h"
#include "support/io/whole_io.h"
#include "tree/contents.h"
#include "tree_check.h"
#include "unit.h"

#define NAME "archive.0000"

static void expect_equal_contents(const struct tree *one, const struct tree *other)
{
	struct content_reader *first, *second;
	struct problem problem = { 0 };

	ck_assert_int_eq(content_reader_create(one, &first), 0);
	ck_assert_int_eq(content_reader_create(other, &second), 0);
	for (uint32_t i = 0; i < one->node_count; i++) {
		uint64_t bytes = one->nodes[i].size_bytes;

		if (!S_ISREG(one->nodes[i].mode) || tree_node_is_link(one, i) || !bytes || bytes > 1 << 24)
			continue;
		SCOPE_FREE char *expected = malloc(bytes), *found = malloc(bytes);

		ck_assert_int_eq(content_reader_open(first, i, &problem), 0);
		ck_assert_int_eq(content_reader_open(second, i, &problem), 0);
		ck_assert_int_eq(content_reader_read(first, expected, bytes, 0, &problem), 0);
		ck_assert_int_eq(content_reader_read(second, found, bytes, 0, &problem), 0);
		ck_assert_mem_eq(expected, found, bytes);
	}
	content_reader_destroy(first);
	content_reader_destroy(second);
}

/* Each file has blocks of its own, and zeros follow its last byte there. */
static void expect_whole_blocks(const struct tree *tree)
{
	struct content_reader *reader;
	struct problem problem = { 0 };
	char rest[PACK_BLOCK_BYTES];

	ck_assert(tree->origins[0].contents->begins_in_blocks && tree->origins[0].contents->fills_blocks);
	ck_assert_int_eq(content_reader_create(tree, &reader), 0);
	for (uint32_t i = 0; i < tree->node_count; i++) {
		uint64_t size_bytes = tree->nodes[i].size_bytes;

		if (!S_ISREG(tree->nodes[i].mode) || tree_node_is_link(tree, i))
			continue;
		ck_assert_int_eq(content_reader_open(reader, i, &problem), 0);
		for (uint64_t at = 0; at < size_bytes;) {
			struct content_range range = content_reader_map(reader, at);
			uint64_t end = range.logical_bytes + range.length_bytes;

			ck_assert(range.kind == CONTENT_HOLE ||
			          range.place_bytes % PACK_BLOCK_BYTES == at % PACK_BLOCK_BYTES);
			if (range.kind == CONTENT_DATA && end == size_bytes && end % PACK_BLOCK_BYTES) {
				size_t count = PACK_BLOCK_BYTES - end % PACK_BLOCK_BYTES;

				ck_assert_int_eq(whole_read(range.descriptor, rest, count,
				                            range.place_bytes + range.length_bytes),
				                 0);
				for (size_t n = 0; n < count; n++)
					ck_assert_int_eq(rest[n], 0);
			}
			at = end;
		}
	}
	content_reader_destroy(reader);
}

static int open_temporary(const char *path)
{
	int descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(descriptor, 0);
	return descriptor;
}

static errcode_t read_again(const char *path, struct tree **tree, struct problem *problem)
{
	struct links_below below = { 0 };
	struct pack_counts counts;

	*tree = calloc(1, sizeof(**tree));
	errcode_t error =
		pack_read(open(path, O_RDONLY | O_CLOEXEC), NAME, path, "source", *tree, &below, &counts, problem);

	links_below_destroy(&below);
	if (error) {
		tree_destroy(*tree);
		*tree = NULL;
	}
	return error;
}

static struct tree *make_pack(const char *directory, const char *path, struct random *random, uint32_t files)
{
	SCOPE_FREE char *source = strdup(host_tree_below(directory, "source"));
	struct problem problem = { 0 };
	struct pool *pool;

	ck_assert_int_eq(mkdir(source, 0755), 0);
	host_tree_make(random, source, files);
	struct tree *tree = host_tree_scan(source, NULL, 2);
	const struct pack_layer layer = { .tree = tree };
	SCOPE_CLOSE int descriptor = open_temporary(path);

	ck_assert_int_eq(pool_create(2, &pool), 0);
	errcode_t error = pack_write(descriptor, NAME, path, &layer, pool, &problem);
	SCOPE_FREE char *text = problem_text(&problem);

	ck_assert_msg(!error, "%s", text);
	ck_assert_int_eq(pack_check_contents(descriptor, NAME, path, pool, &problem), 0);
	pool_destroy(pool);
	return tree;
}

START_TEST(a_tree_comes_back)
{
	struct random random = random_start("pack");

	random.state += (uint64_t)_i << 32;
	SCOPE_FREE char *directory = host_tree_directory();
	SCOPE_FREE char *path = strdup(host_tree_below(directory, "pack"));
	struct tree *tree = make_pack(directory, path, &random, 150), *found;
	struct problem problem = { 0 };
	char why[200];

	ck_assert_int_eq(read_again(path, &found, &problem), 0);
	ck_assert_msg(tree_check(found, why, sizeof(why)), "%s", why);
	host_tree_expect_equal(tree, found);
	expect_equal_contents(tree, found);
	expect_whole_blocks(found);
	tree_destroy(found);
	tree_destroy(tree);
}
END_TEST

/* Sets the checksums of an index that was changed. */
static void seal(int descriptor, const uint8_t *index, uint64_t bytes)
{
	struct pack_header header;

	ck_assert_int_eq(whole_read(descriptor, &header, sizeof(header), 0), 0);
	header.index_checksum = htole32(crc32c(~0u, index, bytes));
	header.checksum = htole32(crc32c(~0u, &header, offsetof(struct pack_header, checksum)));
	ck_assert_int_eq(whole_write(descriptor, &header, sizeof(header), 0), 0);
	const struct timespec mtime = { .tv_sec = (time_t)le64toh(header.mtime_seconds) };

	ck_assert_int_eq(futimens(descriptor, (const struct timespec[]){ mtime, mtime }), 0);
}

/* Whatever the index says, the tree is one, or the pack is refused; with asan, nothing outside of it is read. */
START_TEST(any_index_is_a_tree_or_refused)
{
	struct random random = random_start("pack_index");
	SCOPE_FREE char *directory = host_tree_directory();
	SCOPE_FREE char *path = strdup(host_tree_below(directory, "pack"));
	struct problem problem = { 0 };
	struct pack_header header;
	unsigned int read = 0, refused = 0;
	char why[200];

	tree_destroy(make_pack(directory, path, &random, 30));
	SCOPE_CLOSE int descriptor = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_eq(whole_read(descriptor, &header, sizeof(header), 0), 0);
	uint64_t bytes = le64toh(header.index_bytes), at = PACK_BLOCK_BYTES + le64toh(header.contents_bytes);
	SCOPE_FREE uint8_t *index = malloc(bytes), *changed = malloc(bytes);

	ck_assert_int_eq(whole_read(descriptor, index, bytes, at), 0);
	for (int round = 0; round < (is_soak() ? 100000 : 3000); round++) {
		struct tree *tree;

		memcpy(changed, index, bytes);
		for (uint64_t n = 1 + random_below(&random, 3); n; n--)
			changed[random_below(&random, bytes)] = (uint8_t)random_below(&random, 256);
		ck_assert_int_eq(whole_write(descriptor, changed, bytes, at), 0);
		seal(descriptor, changed, bytes);
		errcode_t error = read_again(path, &tree, &problem);

		ck_assert(!error || error == EBADMSG);
		if (!error)
			ck_assert_msg(tree_check(tree, why, sizeof(why)), "%s", why);
		read += !error;
		refused += error != 0;
		problem_clear(&problem);
		tree_destroy(tree);
	}
	ck_assert_uint_gt(read, 100);
	ck_assert_uint_gt(refused, 100);
}
END_TEST

START_TEST(blocks_without_data_take_no_room)
{
	struct tree_data_map *map = malloc(sizeof(*map) + 4 * sizeof(*map->segments));
	uint64_t end = 8192, starts[4];

	map->count = 4;
	map->segments[0] = (struct tree_segment){ 100, 10 };
	map->segments[1] = (struct tree_segment){ 200, 4000 };
	map->segments[2] = (struct tree_segment){ 1 << 20, 5000 };
	map->segments[3] = (struct tree_segment){ (1 << 20) + 8192, 1 };
	ck_assert_int_eq(pack_places_add(1 << 30, map, &end, starts), 0);
	ck_assert_uint_eq(starts[0], 8192 + 100);
	ck_assert_uint_eq(starts[1], 8192 + 200);
	ck_assert_uint_eq(starts[2], 16384);
	ck_assert_uint_eq(starts[3], 16384 + 8192);
	ck_assert_uint_eq(end, 16384 + 12288);
	map->count = 0;
	ck_assert_int_eq(pack_places_add(1 << 30, map, &end, starts), 0);
	ck_assert_uint_eq(end, 16384 + 12288);
	ck_assert_int_eq(pack_places_add(4097, NULL, &end, NULL), 0);
	ck_assert_uint_eq(end, 16384 + 12288 + 8192);
	ck_assert_int_eq(pack_places_add(UINT64_MAX, NULL, &end, NULL), EFBIG);
	ck_assert_int_eq(pack_places_add(UINT64_C(1) << 62, NULL, &end, NULL), EFBIG);
	ck_assert_uint_eq(end, 16384 + 12288 + 8192);
	free(map);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pack");
	TCase *cases = tcase_create("pack");

	tcase_set_timeout(cases, 0);
	tcase_add_loop_test(cases, a_tree_comes_back, 0, 4);
	tcase_add_test(cases, any_index_is_a_tree_or_refused);
	tcase_add_test(cases, blocks_without_data_take_no_room);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
