/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks over maps that are made by hand on a filesystem that is only a file of blocks: right ones and hostile ones. */
#include "image/map_walk.h"

#include <endian.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ext2fs/ext3_extents.h>

#include "ondisk/inode.h"
#include "unit.h"

#define BLOCK_BYTES 1024
#define BLOCKS 4000
#define POINTERS (BLOCK_BYTES / 4)

static struct volume volume;
static unsigned int damage_count;
static uint64_t blocks_read;
static struct map_walker walker;
static uint8_t root[INODE_ROOT_BYTES];
static struct map_record seen[64];
static unsigned int seen_count;

static void count_damage(void *context, const struct image_damage *damage)
{
	(void)context;
	(void)damage;
	damage_count++;
}

static void setup(void)
{
	volume = (struct volume){
		.descriptor = memfd_create("map_walk", 0),
		.format = { .block_bytes = BLOCK_BYTES, .block_bits = 10, .inode_bytes = 256, .extents = true },
		.geometry = { .first_block = 1, .end_block = BLOCKS, .block_bits = 10 },
		.readable_end = BLOCKS,
	};
	ck_assert_int_eq(ftruncate(volume.descriptor, BLOCKS * BLOCK_BYTES), 0);
	damage_count = 0;
	blocks_read = 0;
	seen_count = 0;
	memset(root, 0, sizeof(root));
	ck_assert_int_eq(
		map_walker_open(&volume, (struct damage_listener){ count_damage, NULL }, &blocks_read, &walker), 0);
}

static void teardown(void)
{
	map_walker_close(&walker);
	close(volume.descriptor);
}

static bool see(void *context, const struct map_record *record)
{
	(void)context;
	if (seen_count < 64)
		seen[seen_count] = *record;
	seen_count++;
	return true;
}

static struct map_shape walk(uint32_t flags)
{
	struct inode_view inode = { .flags = flags, .root = root };
	struct map_shape shape;

	map_walk(&walker, 12, &inode, see, NULL, &shape);
	return shape;
}

/* A node: pairs of a logical block and a child, or triples of a logical block, a physical one and a length. */
static void put_node(uint8_t *bytes, unsigned int depth, unsigned int count, const uint32_t *values)
{
	struct ext3_extent_header header = { htole16(EXT3_EXT_MAGIC), htole16(count), htole16(84), htole16(depth), 0 };

	memcpy(bytes, &header, sizeof(header));
	for (unsigned int n = 0; n < count; n++) {
		struct ext3_extent_idx index = { .ei_block = htole32(values[0]), .ei_leaf = htole32(values[1]) };
		struct ext3_extent extent = { .ee_block = htole32(values[0]), .ee_start = htole32(values[1]) };

		if (!depth)
			extent.ee_len = htole16(values[2]);
		memcpy(bytes + 12 + 12 * n, depth ? (void *)&index : (void *)&extent, 12);
		values += depth ? 2 : 3;
	}
}

static void put_block(uint64_t block, unsigned int depth, unsigned int count, const uint32_t *values)
{
	uint8_t bytes[BLOCK_BYTES] = { 0 };

	put_node(bytes, depth, count, values);
	ck_assert_int_eq(pwrite(volume.descriptor, bytes, sizeof(bytes), (off_t)block * BLOCK_BYTES), BLOCK_BYTES);
}

#define VALUES(...) ((const uint32_t[]){ __VA_ARGS__ })

static void expect_seen(unsigned int index, uint64_t logical, uint64_t physical, uint32_t count)
{
	ck_assert_uint_gt(seen_count, index);
	ck_assert_uint_eq(seen[index].logical, logical);
	ck_assert_uint_eq(seen[index].physical, physical);
	ck_assert_uint_eq(seen[index].count, count);
}

START_TEST(trees_are_walked_in_order)
{
	put_node(root, 2, 2, VALUES(0, 100, 50, 101));
	put_block(100, 1, 2, VALUES(0, 200, 20, 201));
	put_block(101, 1, 1, VALUES(50, 202));
	put_block(200, 0, 2, VALUES(0, 1000, 10, 10, 900, 5));
	put_block(201, 0, 1, VALUES(20, 800, 30));
	put_block(202, 0, 1, VALUES(60, 700, 1));
	struct map_shape shape = walk(EXT4_EXTENTS_FL);

	ck_assert_uint_eq(damage_count, 0);
	ck_assert_uint_eq(shape.blocks, 5);
	ck_assert_uint_eq(shape.depth, 2);
	ck_assert_uint_eq(seen_count, 4);
	expect_seen(0, 0, 1000, 10);
	expect_seen(1, 10, 900, 5);
	expect_seen(2, 20, 800, 30);
	expect_seen(3, 60, 700, 1);
}
END_TEST

START_TEST(what_overlaps_is_left_out)
{
	put_node(root, 0, 4, VALUES(0, 1000, 10, 5, 900, 10, 20, 800, 5, 15, 700, 1));
	walk(EXT4_EXTENTS_FL);
	ck_assert_uint_eq(damage_count, 2);
	ck_assert_uint_eq(seen_count, 2);
	expect_seen(0, 0, 1000, 10);
	expect_seen(1, 20, 800, 5);
}
END_TEST

START_TEST(what_is_out_of_bounds_is_left_out)
{
	/* The superblock, the end, beyond it, nothing. */
	put_node(root, 0, 4, VALUES(0, 1, 1, 10, BLOCKS - 1, 1, 20, BLOCKS - 1, 2, 30, 900, 0));
	walk(EXT4_EXTENTS_FL);
	ck_assert_uint_eq(damage_count, 3);
	ck_assert_uint_eq(seen_count, 1);
	expect_seen(0, 10, BLOCKS - 1, 1);
}
END_TEST

/* A leaf may not reach into what its parent's next entry is for. */
START_TEST(leaves_stay_within_their_bounds)
{
	put_node(root, 1, 2, VALUES(0, 100, 10, 101));
	put_block(100, 0, 2, VALUES(0, 1000, 5, 8, 900, 5));
	put_block(101, 0, 1, VALUES(10, 800, 5));
	walk(EXT4_EXTENTS_FL);
	ck_assert_uint_eq(damage_count, 1);
	ck_assert_uint_eq(seen_count, 2);
	expect_seen(1, 10, 800, 5);
}
END_TEST

START_TEST(no_index_may_go_back_or_beyond)
{
	put_node(root, 2, 2, VALUES(0, 100, 50, 102));
	put_block(100, 1, 2, VALUES(0, 200, 60, 200)); /* the first reaches beyond 50, the second lies there */
	put_block(102, 1, 3, VALUES(50, 201, 50, 202, 45, 202)); /* none has room before the next, or lies behind it */
	put_block(200, 0, 2, VALUES(0, 1000, 5, 52, 1100, 2));
	put_block(201, 0, 1, VALUES(50, 900, 5));
	put_block(202, 0, 1, VALUES(50, 800, 5));
	walk(EXT4_EXTENTS_FL);
	ck_assert_uint_eq(damage_count, 5);
	ck_assert_uint_eq(seen_count, 0);
}
END_TEST

START_TEST(nodes_that_are_none_are_left_out)
{
	put_node(root, 1, 4, VALUES(0, 100, 10, 101, 20, 102, 30, BLOCKS + 5));
	put_block(100, 1, 1, VALUES(0, 100)); /* itself, and of a wrong depth */
	put_block(101, 0, 0, VALUES(0));      /* empty */
	put_block(102, 0, 1, VALUES(20, 1000, 1));
	struct map_shape shape = walk(EXT4_EXTENTS_FL);

	ck_assert_uint_eq(damage_count, 3);
	ck_assert_uint_eq(seen_count, 1);
	ck_assert_uint_eq(shape.blocks, 3);
}
END_TEST

static void put_pointers(uint64_t block, const uint32_t *pointers, unsigned int count)
{
	uint32_t raw[POINTERS] = { 0 };

	for (unsigned int n = 0; n < count; n++)
		raw[n] = htole32(pointers[n]);
	ck_assert_int_eq(pwrite(volume.descriptor, raw, sizeof(raw), (off_t)block * BLOCK_BYTES), BLOCK_BYTES);
}

static void put_root_pointer(unsigned int index, uint32_t block)
{
	block = htole32(block);
	memcpy(root + 4 * index, &block, 4);
}

START_TEST(indirect_maps_have_their_places)
{
	put_root_pointer(0, 500);
	put_root_pointer(1, 501);
	put_root_pointer(11, 511);
	put_root_pointer(EXT2_IND_BLOCK, 100);
	put_root_pointer(EXT2_DIND_BLOCK, 101);
	put_root_pointer(EXT2_TIND_BLOCK, 102);
	put_pointers(100, VALUES(512, 600), 2);
	put_pointers(101, VALUES(0, 103), 2);
	put_pointers(102, VALUES(104), 1);
	put_pointers(103, VALUES(0, 0, 700), 3);
	put_pointers(104, VALUES(105), 1);
	put_pointers(105, VALUES(800, 801), 2);
	struct map_shape shape = walk(0);

	ck_assert_uint_eq(damage_count, 0);
	ck_assert_uint_eq(shape.blocks, 6);
	ck_assert_uint_eq(shape.depth, 3);
	ck_assert_uint_eq(seen_count, 5);
	expect_seen(0, 0, 500, 2);
	expect_seen(1, 11, 511, 2);
	expect_seen(2, 13, 600, 1);
	expect_seen(3, 12 + POINTERS + POINTERS + 2, 700, 1);
	expect_seen(4, 12 + POINTERS + POINTERS * POINTERS, 800, 2);
}
END_TEST

/* 2^24 steps for each such file, if blocks that point to themselves were followed; so there is a limit for all. */
START_TEST(circles_end)
{
	uint32_t self[POINTERS];

	for (unsigned int n = 0; n < POINTERS; n++)
		self[n] = 100;
	put_pointers(100, self, POINTERS);
	put_root_pointer(EXT2_TIND_BLOCK, 100);
	struct map_shape shape = walk(0);

	ck_assert_uint_gt(damage_count, 0);
	ck_assert_uint_le(shape.blocks, BLOCKS);
	uint64_t read = shape.blocks;

	shape = walk(0);
	ck_assert_uint_lt(shape.blocks, read);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("map_walk");
	TCase *tests = tcase_create("map_walk");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, trees_are_walked_in_order);
	tcase_add_test(tests, what_overlaps_is_left_out);
	tcase_add_test(tests, what_is_out_of_bounds_is_left_out);
	tcase_add_test(tests, leaves_stay_within_their_bounds);
	tcase_add_test(tests, no_index_may_go_back_or_beyond);
	tcase_add_test(tests, nodes_that_are_none_are_left_out);
	tcase_add_test(tests, indirect_maps_have_their_places);
	tcase_add_test(tests, circles_end);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
