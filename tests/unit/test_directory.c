/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ondisk/directory.h"

#include <errno.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "directory_names.h"
#include "directory_reader.h"
#include "ondisk/directory_parts.h"
#include "unit.h"

static struct ondisk_format format_of(unsigned int block_bits, bool checksums, uint8_t hash_version)
{
	return (struct ondisk_format){
		.block_bytes = 1u << block_bits,
		.block_bits = block_bits,
		.inode_bytes = 256,
		.hash_version = hash_version,
		.hash_seed = { 0x01234567, 0x89abcdef, 0xfedcba98, 0x76543210 },
		.checksum_seed = 0xcafe,
		.checksums = checksums,
		.extents = true,
		.dir_index = true,
		.filetype = true,
	};
}

/* A directory as it was built, and what it was built from. */
struct built {
	struct directory_layout *layout;
	struct directory_bytes directory;
	uint8_t *bytes;
};

#define GUARD_BYTES 64

/* Lays out and builds twice, over ones and over zeros: every byte must have been written, and no other. */
static struct built build(const struct ondisk_format *format, const struct name_set *set, uint32_t minimum_blocks)
{
	const struct directory_source source = name_set_source(set);
	struct built built = { .directory = { .format = format, .ino = 77, .parent_ino = 66, .generation = 5 } };
	uint32_t blocks;

	ck_assert_int_eq(directory_layout(format, &source, minimum_blocks, NULL, &blocks, &built.layout), 0);
	const size_t size = (size_t)blocks * format->block_bytes;
	uint8_t *again = malloc(size);
	built.bytes = malloc(size + GUARD_BYTES);
	ck_assert(again && built.bytes);
	memset(built.bytes, 0xff, size + GUARD_BYTES);
	memset(again, 0, size);
	ck_assert_int_eq(directory_build(format, &source, built.layout, blocks, 77, 66, 5, built.bytes), 0);
	ck_assert_int_eq(directory_build(format, &source, built.layout, blocks, 77, 66, 5, again), 0);
	ck_assert_int_eq(memcmp(built.bytes, again, size), 0);
	for (int i = 0; i < GUARD_BYTES; i++)
		ck_assert_uint_eq(built.bytes[size + i], 0xff);
	free(again);
	built.directory.bytes = built.bytes;
	built.directory.blocks = blocks;
	built.directory.is_indexed = built.layout != NULL;
	return built;
}

static void release(struct built *built)
{
	directory_layout_free(built->layout);
	free(built->bytes);
}

static void check_built(const struct built *built, const struct name_set *set)
{
	const struct ondisk_format *format = built->directory.format;
	const char *why = directory_check(&built->directory, set);

	ck_assert_msg(!why, "%s (%u names, %u blocks of %u, hash %u, checksums %d, filetype %d, dir_index %d)", why,
	              set->count, built->directory.blocks, format->block_bytes, format->hash_version, format->checksums,
	              format->filetype, format->dir_index);
}

static struct built build_and_check(const struct ondisk_format *format, const struct name_set *set)
{
	struct built built = build(format, set, 0);

	check_built(&built, set);
	return built;
}

/* How many blocks it took; everything is released. */
static uint32_t blocks_of(const struct ondisk_format *format, const struct name_set *set)
{
	struct built built = build_and_check(format, set);
	const uint32_t blocks = built.directory.blocks;

	ck_assert_int_eq(built.directory.is_indexed, format->dir_index && blocks > 1);
	release(&built);
	return blocks;
}

static uint32_t blocks_of_random(const struct ondisk_format *format, struct random *random, uint32_t count,
                                 uint32_t shortest, uint32_t longest)
{
	struct name_set set = name_set_start();

	name_set_add_random(&set, random, count, shortest, longest);
	const uint32_t blocks = blocks_of(format, &set);
	name_set_free(&set);
	return blocks;
}

static const unsigned int block_bits[] = { 10, 11, 12, 16 };

/* Every combination of features with every block size: the loop's index says which. */
START_TEST(each_format_reads_back)
{
	struct random random = random_start("each_format_reads_back");

	for (int features = 0; features < 16; features++) {
		struct ondisk_format format = format_of(block_bits[_i], features & 1, random_below(&random, 6));

		format.filetype = features & 2;
		format.dir_index = features & 4;
		format.large_dir = features & 8;
		ck_assert_uint_eq(blocks_of_random(&format, &random, 0, 0, 0), 1);
		ck_assert_uint_eq(blocks_of_random(&format, &random, 1, 255, 255), 1);
		ck_assert_uint_eq(blocks_of_random(&format, &random, 2, 4, 255), 1);
		blocks_of_random(&format, &random, 1000, 4, 60);
		blocks_of_random(&format, &random, 1000, 255, 255);
		blocks_of_random(&format, &random, random_below(&random, 3000), 4, 255);
	}
}
END_TEST

START_TEST(each_hash_version_reads_back)
{
	struct random random = random_start("each_hash_version_reads_back");

	for (uint8_t version = EXT2_HASH_LEGACY; version <= EXT2_HASH_TEA_UNSIGNED; version++) {
		struct ondisk_format format = format_of(block_bits[_i], true, version);

		ck_assert_uint_gt(blocks_of_random(&format, &random, 4000, 4, 40), 1);
		memset(format.hash_seed, 0, sizeof(format.hash_seed));
		ck_assert_uint_gt(blocks_of_random(&format, &random, 4000, 4, 40), 1);
	}
}
END_TEST

START_TEST(twenty_thousand_names)
{
	struct random random = random_start("twenty_thousand_names");
	const struct ondisk_format format = format_of(block_bits[_i], true, EXT2_HASH_HALF_MD4);

	blocks_of_random(&format, &random, 20000, 4, 60);
}
END_TEST

/* Names of 4 bytes, the first one longer, that fill one block to the last byte. */
static struct name_set full_block(const struct ondisk_format *format, struct random *random)
{
	const uint32_t room = format->block_bytes - 24 - (format->checksums ? 12 : 0);
	struct name_set set = name_set_start();

	name_set_add_random(&set, random, 1, 4 + room % 12, 4 + room % 12);
	name_set_add_random(&set, random, room / 12 - 1, 4, 4);
	return set;
}

/* What a layout in another format has found out gives the same bytes; one with another seed or fewer names does not. */
START_TEST(an_earlier_layout_gives_its_order)
{
	struct random random = random_start("an_earlier_layout_gives_its_order");
	struct name_set set = name_set_start();

	name_set_add_random(&set, &random, 3000, 1, 40);
	const struct ondisk_format small = format_of(10, true, EXT2_HASH_HALF_MD4_UNSIGNED);
	struct ondisk_format large = format_of(block_bits[_i], true, EXT2_HASH_HALF_MD4_UNSIGNED);
	const struct directory_source source = name_set_source(&set);

	for (int kind = 0; kind < 3; kind++) {
		struct ondisk_format other = small;
		struct directory_source of_other = source;
		struct directory_layout *earlier, *layout;
		uint32_t blocks;

		other.hash_seed[0] ^= kind == 1;
		of_other.count -= kind == 2;
		struct built expected = build(&large, &set, 0);
		ck_assert_int_eq(directory_layout(&other, &of_other, 0, NULL, &blocks, &earlier), 0);
		ck_assert_int_eq(directory_layout(&large, &source, 0, earlier, &blocks, &layout), 0);
		directory_layout_free(earlier);
		ck_assert_uint_eq(blocks, expected.directory.blocks);
		const size_t size = (size_t)blocks * large.block_bytes;
		uint8_t *bytes = malloc(size);

		ck_assert_ptr_nonnull(bytes);
		ck_assert_int_eq(directory_build(&large, &source, layout, blocks, 77, 66, 5, bytes), 0);
		ck_assert_int_eq(memcmp(bytes, expected.bytes, size), 0);
		free(bytes);
		directory_layout_free(layout);
		release(&expected);
	}
	name_set_free(&set);
}
END_TEST

START_TEST(one_entry_more_than_a_block)
{
	struct random random = random_start("one_entry_more_than_a_block");

	for (int features = 0; features < 4; features++) {
		struct ondisk_format format = format_of(block_bits[_i], features & 1, EXT2_HASH_TEA);

		format.dir_index = features & 2;
		struct name_set set = full_block(&format, &random);
		ck_assert_uint_eq(blocks_of(&format, &set), 1);
		name_set_add(&set, "x", 1);
		/* The leaf has more room than block 0 had: "." and ".." are in the root now. */
		ck_assert_uint_eq(blocks_of(&format, &set), 2);
		name_set_free(&set);
	}
}
END_TEST

START_TEST(shortest_and_longest_names)
{
	struct ondisk_format format = format_of(block_bits[_i], true, EXT2_HASH_HALF_MD4);
	struct name_set set = name_set_start();

	for (int byte = 1; byte < 256; byte++) {
		char name[255];

		if (byte == '.' || byte == '/')
			continue;
		memset(name, byte, sizeof(name));
		for (uint32_t length = 1; length <= 5; length++)
			name_set_add(&set, name, length);
		for (uint32_t length = 252; length <= 255; length++)
			name_set_add(&set, name, length);
	}
	blocks_of(&format, &set);
	format.dir_index = false;
	blocks_of(&format, &set);
	name_set_free(&set);
}
END_TEST

/* lost+found: 16 KiB, and still linear when it has entries. */
START_TEST(surplus_blocks_are_empty)
{
	struct random random = random_start("surplus_blocks_are_empty");

	for (int checksums = 0; checksums < 2; checksums++) {
		const struct ondisk_format format = format_of(block_bits[_i], checksums, EXT2_HASH_HALF_MD4);
		struct name_set set = full_block(&format, &random);

		for (uint32_t minimum = 1; minimum <= 16; minimum += 5) {
			struct built built = build(&format, &set, minimum);

			ck_assert_uint_eq(built.directory.blocks, minimum);
			ck_assert(!built.directory.is_indexed);
			check_built(&built, &set);
			release(&built);
		}
		name_set_add(&set, "x", 1);
		struct built built = build(&format, &set, 2);
		ck_assert_uint_eq(built.directory.blocks, 2);
		ck_assert(!built.directory.is_indexed);
		check_built(&built, &set);
		release(&built);
		name_set_free(&set);
	}
}
END_TEST

/* How the root's entry n reads. */
static uint32_t root_hash(const struct built *built, uint32_t at)
{
	return built->bytes[32 + 8 * at] | built->bytes[33 + 8 * at] << 8 | built->bytes[34 + 8 * at] << 16 |
	       (uint32_t)built->bytes[35 + 8 * at] << 24;
}

/*
 * Three such names fill a leaf of 1 KiB, so a run of 8 and more covers whole leaves. Each count of names before it
 * puts its ends elsewhere in a leaf.
 */
START_TEST(equal_hashes_across_leaves)
{
	struct random random = random_start("equal_hashes_across_leaves");
	const uint8_t hash_version = _i & 2 ? EXT2_HASH_LEGACY : EXT2_HASH_LEGACY_UNSIGNED;
	const struct ondisk_format format = format_of(10, _i & 1, hash_version);

	for (uint32_t others = 1; others < 8; others++) {
		for (enum colliding_names which = COLLIDING_IN_THE_MIDDLE; which <= COLLIDING_FOLDED; which++) {
			const uint32_t continuation = which == COLLIDING_IN_THE_MIDDLE ? 0x80000001 : 0xfffffffd;
			struct name_set set = name_set_start();
			uint32_t continued = 0;

			name_set_add_random(&set, &random, others, 255, 255);
			name_set_add_colliding(&set, which);
			struct built built = build_and_check(&format, &set);
			for (uint32_t at = 1; at + 1 < built.directory.blocks; at++)
				continued += root_hash(&built, at) == continuation;
			ck_assert_uint_ge(continued, 2);
			release(&built);
			name_set_free(&set);
		}
	}
}
END_TEST

/* The same at the end of an index node: 126 leaves with checksums, 127 without. */
START_TEST(equal_hashes_across_nodes)
{
	struct random random = random_start("equal_hashes_across_nodes");
	const struct ondisk_format format = format_of(10, _i, EXT2_HASH_LEGACY);
	const uint32_t node_leaves = _i ? 126 : 127;

	for (uint32_t before = 1; before < 9; before++) {
		struct name_set set = name_set_start();

		name_set_add_random(&set, &random, 3 * node_leaves - before, 255, 255);
		name_set_add_colliding(&set, COLLIDING_FOLDED);
		struct built built = build_and_check(&format, &set);
		ck_assert_uint_eq(directory_indirect_levels(&built.directory), 1);
		ck_assert_uint_eq(root_hash(&built, 1), 0xfffffffd);
		release(&built);
		name_set_free(&set);
	}
}
END_TEST

/* About 10 pairs of 200 000 names share a hash; only these are kept, so that the minor hash decides everywhere. */
START_TEST(minor_hash_orders_equal_hashes)
{
	struct random random = random_start("minor_hash_orders_equal_hashes");
	const struct ondisk_format format = format_of(10, true, EXT2_HASH_HALF_MD4);
	struct name_set all = name_set_start(), pairs = name_set_start();
	const uint32_t slots = 1u << 20;
	uint32_t *heads = calloc(slots, sizeof(*heads)); /* by hash: entry + 1 */

	ck_assert_ptr_nonnull(heads);
	name_set_add_random(&all, &random, 400000, 200, 200);
	for (uint32_t entry = 0; entry < all.count; entry++) {
		const struct directory_name name = all.names[entry];
		uint32_t hash, minor, other;

		ck_assert_int_eq(ext2fs_dirhash2(format.hash_version, name.name, name.length_bytes, NULL, 0,
		                                 format.hash_seed, &hash, &minor),
		                 0);
		uint32_t *head = &heads[hash >> 12];
		if (*head) {
			const struct directory_name before = all.names[*head - 1];

			ck_assert_int_eq(ext2fs_dirhash2(format.hash_version, before.name, before.length_bytes, NULL, 0,
			                                 format.hash_seed, &other, &minor),
			                 0);
			if (other == hash) {
				name_set_add(&pairs, before.name, before.length_bytes);
				name_set_add(&pairs, name.name, name.length_bytes);
			}
		}
		*head = entry + 1;
	}
	printf("# %u pairs of equal hash\n", pairs.count / 2);
	ck_assert_uint_ge(pairs.count, 12);
	ck_assert_uint_gt(blocks_of(&format, &pairs), 2);
	free(heads);
	name_set_free(&all);
	name_set_free(&pairs);
}
END_TEST

/* A source whose names are all made of their number, so that many of them need no memory. */
static struct directory_name numbered_name(const void *context, uint32_t entry)
{
	static _Thread_local char name[255];

	(void)context;
	if (!name[254])
		memset(name, 'n', sizeof(name));
	for (int at = 0; at < 8; at++, entry >>= 4)
		name[at] = 'a' + (entry & 15);
	return (struct directory_name){ name, sizeof(name) };
}

static struct directory_target same_target(const void *context, uint32_t entry)
{
	(void)context;
	(void)entry;
	return (struct directory_target){ 12, EXT2_FT_REG_FILE };
}

/* 1 KiB blocks with checksums: 123 entries in the root, 126 in a node, 3 of the longest names in a leaf. */
START_TEST(index_grows_a_level_at_its_limits)
{
	static const struct {
		uint32_t leaves;
		bool large_dir;
		errcode_t error;
		uint32_t levels, nodes;
	} cases[] = {
		{ 123, false, 0, 0, 0 },
		{ 124, false, 0, 1, 1 },
		{ 126 + 1, false, 0, 1, 2 },
		{ 123 * 126, false, 0, 1, 123 },
		{ 123 * 126 + 1, false, EFBIG, 0, 0 },
		{ 123 * 126, true, 0, 1, 123 },
		{ 123 * 126 + 1, true, 0, 2, 124 + 1 },
		{ 126 * 126 + 1, true, 0, 2, 127 + 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ondisk_format format = format_of(10, true, EXT2_HASH_HALF_MD4);
		const struct directory_source source = { .count = cases[i].leaves * 3,
			                                 .name = numbered_name,
			                                 .target = same_target };
		struct directory_layout *layout;
		uint32_t blocks;

		format.large_dir = cases[i].large_dir;
		ck_assert_int_eq(directory_layout(&format, &source, 0, NULL, &blocks, &layout), cases[i].error);
		if (cases[i].error) {
			ck_assert_ptr_null(layout);
			continue;
		}
		ck_assert_uint_eq(blocks, 1 + cases[i].nodes + cases[i].leaves);
		directory_layout_free(layout);
	}
}
END_TEST

START_TEST(two_levels_below_the_root_read_back)
{
	struct random random = random_start("two_levels_below_the_root_read_back");
	struct ondisk_format format = format_of(10, _i, EXT2_HASH_HALF_MD4);
	struct name_set set = name_set_start();

	format.large_dir = true;
	const uint32_t one_level_leaves = _i ? 123 * 126 : 124 * 127;

	name_set_add_random(&set, &random, 3 * one_level_leaves + 1 + random_below(&random, 2000), 255, 255);
	struct built built = build_and_check(&format, &set);
	ck_assert_uint_eq(directory_indirect_levels(&built.directory), 2);
	release(&built);
	name_set_free(&set);
}
END_TEST

/* 2 GiB without large_dir. */
START_TEST(linear_size_has_its_limit)
{
	struct ondisk_format format = format_of(10, false, EXT2_HASH_HALF_MD4);
	const struct directory_source source = { .count = 1000, .name = numbered_name, .target = same_target };
	struct directory_layout *layout;
	uint32_t blocks;

	ck_assert_int_eq(directory_layout(&format, &source, 1u << 21, NULL, &blocks, &layout), 0);
	ck_assert_int_eq(directory_layout(&format, &source, (1u << 21) + 1, NULL, &blocks, &layout), EFBIG);
	format.large_dir = true;
	ck_assert_int_eq(directory_layout(&format, &source, (1u << 21) + 1, NULL, &blocks, &layout), 0);
}
END_TEST

/* 2^28: more than any memory here could lay out, so only the index's shape is asked for. */
START_TEST(block_numbers_have_28_bits)
{
	struct ondisk_format format = format_of(16, true, EXT2_HASH_HALF_MD4);
	const uint32_t leaves = (1u << 28) - (1 + 5 + 32772); /* 8190 to a node */
	struct directory_index index;

	format.large_dir = true;
	ck_assert_int_eq(directory_index_shape(&format, leaves, &index), 0);
	ck_assert_uint_eq(index.blocks + leaves, 1u << 28);
	ck_assert_int_eq(directory_index_shape(&format, leaves + 1, &index), EFBIG);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
	struct random random = random_start("what_cannot_be_is_refused");
	struct ondisk_format format = format_of(12, true, EXT2_HASH_HALF_MD4);
	struct name_set set = name_set_start();
	struct directory_layout *unused;
	uint32_t blocks;

	name_set_add_random(&set, &random, 1000, 60, 60);
	for (uint32_t entry = 0; entry < set.count; entry++)
		set.names[entry].length_bytes = 40;
	struct built built = build_and_check(&format, &set);
	blocks = built.directory.blocks;
	struct directory_source source = name_set_source(&set);

	set.first_ino = 0;
	ck_assert_int_eq(directory_build(&format, &source, built.layout, blocks, 77, 66, 5, built.bytes), EINVAL);
	ck_assert_int_eq(directory_build(&format, &source, NULL, blocks, 77, 66, 5, built.bytes), EINVAL);
	set.first_ino = 100;
	ck_assert_int_eq(directory_build(&format, &source, built.layout, blocks, 0, 66, 5, built.bytes), EINVAL);
	ck_assert_int_eq(directory_build(&format, &source, built.layout, blocks, 77, 0, 5, built.bytes), EINVAL);
	ck_assert_int_eq(directory_build(&format, &source, built.layout, blocks - 1, 77, 66, 5, built.bytes), EINVAL);
	ck_assert_int_eq(directory_build(&format, &source, NULL, 2, 77, 66, 5, built.bytes), EINVAL);
	for (uint32_t entry = 0; entry < set.count; entry++)
		set.names[entry].length_bytes = 60;
	ck_assert_int_eq(directory_build(&format, &source, built.layout, blocks, 77, 66, 5, built.bytes), EINVAL);
	source.count--;
	ck_assert_int_eq(directory_build(&format, &source, built.layout, blocks, 77, 66, 5, built.bytes), EINVAL);

	format.hash_version = EXT2_HASH_SIPHASH;
	ck_assert_int_ne(directory_layout(&format, &source, 0, NULL, &blocks, &unused), 0);
	ck_assert_ptr_null(unused);
	release(&built);
	name_set_free(&set);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("directory");
	TCase *all = tcase_create("all");
	const int sizes = sizeof(block_bits) / sizeof(*block_bits);

	tcase_set_timeout(all, 300);
	tcase_add_loop_test(all, each_format_reads_back, 0, sizes);
	tcase_add_loop_test(all, each_hash_version_reads_back, 0, sizes);
	tcase_add_loop_test(all, twenty_thousand_names, 0, sizes);
	tcase_add_loop_test(all, an_earlier_layout_gives_its_order, 0, sizes);
	tcase_add_loop_test(all, one_entry_more_than_a_block, 0, sizes);
	tcase_add_loop_test(all, shortest_and_longest_names, 0, sizes);
	tcase_add_loop_test(all, surplus_blocks_are_empty, 0, sizes);
	tcase_add_loop_test(all, equal_hashes_across_leaves, 0, 4);
	tcase_add_loop_test(all, equal_hashes_across_nodes, 0, 2);
	tcase_add_test(all, minor_hash_orders_equal_hashes);
	tcase_add_test(all, index_grows_a_level_at_its_limits);
	tcase_add_loop_test(all, two_levels_below_the_root_read_back, 0, 2);
	tcase_add_test(all, linear_size_has_its_limit);
	tcase_add_test(all, block_numbers_have_28_bits);
	tcase_add_test(all, what_cannot_be_is_refused);
	suite_add_tcase(suite, all);
	return run_suite(suite);
}
