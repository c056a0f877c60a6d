/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps are cut off at random places, extent trees of all depths and indirect ones: what stays is what stood before the
 * cut, what goes free is the rest, cluster by cluster, and map_scan() accepts what is left. Inodes are changed in place
 * and written into tables that were never initialised. (In real filesystems: tests/orphan-file, tests/drop-files.)
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <ext2fs/ext2fs.h>

#include "ondisk/file_map.h"
#include "ondisk/inode_store.h"
#include "ondisk/map_cut.h"
#include "ondisk/map_scan.h"
#include "seeded_random.h"
#include "unit.h"

#define BLOCK_BYTES 1024
#define BLOCKS 60000
#define FIRST_MAP_BLOCK 100
#define FIRST_DATA_BLOCK 2000
#define INODE_TABLE 10
#define INO 77

static uint8_t memory[BLOCKS][BLOCK_BYTES];
static unsigned int writes;
static uint32_t written_inodes;

static errcode_t read_block(struct block_access *access, uint64_t block, void *bytes)
{
	(void)access;
	ck_assert_uint_lt(block, BLOCKS);
	memcpy(bytes, memory[block], BLOCK_BYTES);
	return 0;
}

static errcode_t write_block(struct block_access *access, uint64_t block, const void *bytes)
{
	(void)access;
	ck_assert_uint_lt(block, BLOCKS);
	memcpy(memory[block], bytes, BLOCK_BYTES);
	writes++;
	return 0;
}

static uint64_t inode_table(struct block_access *access, uint32_t group)
{
	(void)access;
	return group ? 0 : INODE_TABLE;
}

static uint32_t *count_written(struct block_access *access, uint32_t group)
{
	(void)access, (void)group;
	return &written_inodes;
}

static bool is_metadata(struct block_access *access, uint64_t block, uint64_t count)
{
	(void)access, (void)count;
	return block < FIRST_MAP_BLOCK;
}

static struct ondisk_format format;
static struct block_access test_access = {
	.format = &format,
	.first_block = 0,
	.end_block = BLOCKS,
	.inodes = 200,
	.inodes_per_group = 200,
	.read = read_block,
	.write = write_block,
	.inode_table = inode_table,
	.written_inodes = count_written,
	.is_metadata = is_metadata,
};

static void set_format(bool extents, unsigned int cluster_bits)
{
	format = (struct ondisk_format){
		.block_bytes = BLOCK_BYTES,
		.block_bits = 10,
		.cluster_bits = cluster_bits,
		.inode_bytes = 256,
		.extra_isize = 32,
		.checksums = extents,
		.extents = extents,
		.project = true,
		.checksum_seed = 12345,
	};
	writes = 0;
}

/* A file in `count` extents with gaps of logical and physical blocks; returns the first logical block after it. */
static uint32_t make_map(struct random *random, size_t count, struct inode_decoded *inode, struct file_extent *extents)
{
	const uint32_t in_cluster = (1u << format.cluster_bits) - 1;
	static uint64_t map_blocks[1000];
	uint32_t logical = 0, physical = FIRST_DATA_BLOCK;

	for (size_t n = 0; n < count; n++) {
		uint32_t length = 1 + (uint32_t)random_below(random, 12), gap = (uint32_t)random_below(random, 5);

		/* In a cluster both numbers have the same offset; a gap may end within one. */
		extents[n] = (struct file_extent){ logical, length, physical };
		if (format.extents && random_below(random, 3) == 0)
			extents[n].count |= FILE_EXTENT_UNWRITTEN;
		logical += length + gap;
		physical += length + gap;
		if (!(logical & in_cluster)) {
			physical += (in_cluster + 1) * (uint32_t)random_below(random, 2);
		}
	}
	uint64_t needed = file_map_blocks(&format, extents, count);
	uint8_t *blocks = malloc((needed + 1) * BLOCK_BYTES);

	ck_assert_uint_lt(physical, BLOCKS);
	ck_assert_uint_lt(needed, 1000);
	for (uint64_t n = 0; n < needed; n++)
		map_blocks[n] = FIRST_MAP_BLOCK + (n << format.cluster_bits);
	*inode = (struct inode_decoded){ .value = {
						 .mode = S_IFREG | 0644,
						 .links = 1,
						 .blocks = 40000,
						 .generation = 9,
						 .flags = format.extents ? EXT4_EXTENTS_FL : 0,
					 } };
	ck_assert_int_eq(file_map_build(&format, INO, 9, extents, count, map_blocks, inode->value.root, blocks), 0);
	for (uint64_t n = 0; n < needed; n++)
		memcpy(memory[map_blocks[n]], blocks + n * BLOCK_BYTES, BLOCK_BYTES);
	free(blocks);
	return logical;
}

/* Each logical block's physical one, with the lowest bit of the upper half for unwritten; 0: none. */
struct whole_map {
	struct map_scan scan;
	uint64_t *blocks;
	bool *is_used; /* by the map itself or its contents, physical */
};

static errcode_t note_extent(struct map_scan *scan, uint64_t logical, uint64_t physical, uint32_t count,
                             bool is_unwritten)
{
	struct whole_map *map = (struct whole_map *)scan;

	for (uint32_t n = 0; n < count; n++) {
		map->blocks[logical + n] = (physical + n) | (uint64_t)is_unwritten << 32;
		map->is_used[physical + n] = true;
	}
	return 0;
}

static errcode_t note_map_block(struct map_scan *scan, uint64_t block)
{
	((struct whole_map *)scan)->is_used[block] = true;
	return 0;
}

static struct whole_map read_map(const struct inode_decoded *inode)
{
	struct whole_map map = {
		{ .access = &test_access, .extent = note_extent, .map_block = note_map_block },
		calloc(BLOCKS, sizeof(uint64_t)),
		calloc(BLOCKS, sizeof(bool)),
	};

	ck_assert_int_eq(map_scan(&map.scan, INO, inode), 0);
	return map;
}

static void free_map(struct whole_map *map)
{
	free(map->blocks);
	free(map->is_used);
}

static bool cluster_is_used(const struct whole_map *map, uint64_t block)
{
	uint64_t from = block >> format.cluster_bits << format.cluster_bits;

	for (uint64_t n = from; n < from + (1u << format.cluster_bits) && n < BLOCKS; n++)
		if (map->is_used[n])
			return true;
	return false;
}

/* What is free is what was used, and is no longer. */
static void check_freed(const struct block_list *freed, const struct whole_map *before, const struct whole_map *after)
{
	uint64_t count = 0, next = 0;

	for (size_t n = 0; n < freed->count; n++) {
		ck_assert(n == 0 || freed->spans[n].start > next);
		next = freed->spans[n].start + freed->spans[n].count;
		for (uint64_t block = freed->spans[n].start; block < next; block++, count++)
			ck_assert(cluster_is_used(before, block) && !cluster_is_used(after, block));
	}
	ck_assert_uint_eq(count, freed->blocks);
	for (uint64_t block = 0; block < BLOCKS; block++)
		count -= cluster_is_used(before, block) && !cluster_is_used(after, block);
	ck_assert_uint_eq(count, 0);
}

static const struct {
	bool extents;
	unsigned int cluster_bits;
	size_t most;
} kinds[] = {
	{ true, 0, 3 }, { true, 0, 80 }, { true, 0, 4000 }, { true, 2, 2000 }, { false, 0, 3 }, { false, 0, 3000 }
};

START_TEST(cuts)
{
	static struct file_extent extents[4000];
	struct random random = random_start("map_cut");

	set_format(kinds[_i].extents, kinds[_i].cluster_bits);
	for (int round = 0; round < 60; round++) {
		struct inode_decoded inode;
		struct block_list all = { 0 }, freed = { 0 };
		uint32_t end = make_map(&random, 1 + random_below(&random, kinds[_i].most), &inode, extents);
		uint64_t first = round % 10 ? random_below(&random, end + 2) : 0, physical;
		struct whole_map before = read_map(&inode);

		ck_assert_int_eq(map_collect(&test_access, INO, &inode, &all), 0);
		ck_assert_int_eq(map_find(&test_access, INO, &inode, first, &physical), 0);
		ck_assert_uint_eq(physical, before.blocks[first] >> 32 ? 0 : before.blocks[first]);
		writes = 0;
		ck_assert_int_eq(map_cut(&test_access, INO, &inode, first, &freed), 0);
		ck_assert_uint_le(writes, 5);
		struct whole_map after = read_map(&inode);

		for (uint64_t n = 0; n < BLOCKS; n++)
			ck_assert_uint_eq(after.blocks[n], n < first ? before.blocks[n] : 0);
		check_freed(&freed, &before, &after);
		ck_assert_uint_eq(inode.value.blocks, 40000 - freed.blocks);
		if (!first) {
			ck_assert_uint_eq(freed.blocks, all.blocks);
			ck_assert_uint_eq(writes, 0);
		}
		free_map(&before);
		free_map(&after);
		block_list_free(&all);
		block_list_free(&freed);
	}
}
END_TEST

START_TEST(damaged_maps)
{
	static struct file_extent extents[500];
	struct random random = random_start("map_cut");
	struct block_list all = { 0 };
	struct inode_decoded inode;

	set_format(true, 0);
	make_map(&random, 500, &inode, extents);
	/* A bit of a leaf: its checksum is wrong. */
	memory[FIRST_MAP_BLOCK + 1][40] ^= 1;
	ck_assert_int_eq(map_collect(&test_access, INO, &inode, &all), EUCLEAN);
	block_list_free(&all);
	/* The checksum of another inode's. */
	make_map(&random, 500, &inode, extents);
	inode.value.generation++;
	ck_assert_int_eq(map_collect(&test_access, INO, &inode, &all), EUCLEAN);
	block_list_free(&all);
	/* Two extents in the same blocks. */
	const struct file_extent twice[] = { { 0, 5, 3000 }, { 9, 5, 3004 } }, metadata = { 0, 5, 98 };

	ck_assert_int_eq(file_map_build(&format, INO, 10, twice, 2, NULL, inode.value.root, NULL), 0);
	ck_assert_int_eq(map_collect(&test_access, INO, &inode, &all), EUCLEAN);
	block_list_free(&all);
	ck_assert_int_eq(file_map_build(&format, INO, 10, &metadata, 1, NULL, inode.value.root, NULL), 0);
	ck_assert_int_eq(map_collect(&test_access, INO, &inode, &all), EUCLEAN);
	block_list_free(&all);
}
END_TEST

/* --- inodes ---------------------------------------------------------------------------------------------------------
 */

START_TEST(an_inode_that_does_not_change_stays_as_it_is)
{
	struct random random = random_start("map_cut");
	uint8_t bytes[256], copy[256];

	for (int round = 0; round < 3000; round++) {
		struct inode_decoded inode;

		set_format(true, 0);
		for (size_t n = 0; n < sizeof(bytes); n++)
			bytes[n] = (uint8_t)random_next(&random);
		/* i_extra_isize: any that is valid, and some that are not. */
		bytes[128] = (uint8_t)(random_below(&random, 34) * 4 + (round % 50 == 0));
		bytes[129] = 0;
		inode_checksum_write(&format, INO, bytes);
		ck_assert(inode_checksum_fits(&format, INO, bytes));
		memcpy(copy, bytes, sizeof(copy));
		inode_decode(&format, bytes, &inode);
		ck_assert_int_eq(inode_change(&format, INO, &inode, bytes), 0);
		ck_assert_int_eq(memcmp(copy, bytes, sizeof(copy)), 0);
		/* One that does change is what it was told to be. */
		const uint32_t old_generation = inode.value.generation;

		inode.value.uid ^= 0x12345;
		inode.value.links = 3;
		inode.value.generation = inode_next_generation(bytes);
		inode.value.blocks = 77;
		inode.value.mtime = (struct inode_time){ 1700000000, 0 };
		inode.deletion_time = 5;
		ck_assert_int_eq(inode_change(&format, INO, &inode, bytes), 0);
		struct inode_decoded now;

		inode_decode(&format, bytes, &now);
		ck_assert(inode_checksum_fits(&format, INO, bytes));
		ck_assert_uint_eq(now.value.generation, old_generation + 1);
		ck_assert_uint_eq(now.value.uid, inode.value.uid);
		ck_assert_uint_eq(now.value.links, 3);
		ck_assert_uint_eq(now.value.blocks, 77);
		ck_assert_int_eq(now.value.mtime.seconds, 1700000000);
		ck_assert_uint_eq(now.deletion_time, 5);
		ck_assert_uint_eq(now.value.gid, inode.value.gid);
		ck_assert_uint_eq(now.value.size_bytes, inode.value.size_bytes);
		ck_assert_int_eq(memcmp(copy + 160, bytes + 160, 96), 0);
	}
}
END_TEST

START_TEST(a_project_needs_room)
{
	uint8_t bytes[256] = { 0 };
	struct inode_decoded inode;

	set_format(true, 0);
	bytes[128] = 4;
	inode_decode(&format, bytes, &inode);
	inode.value.project = 5;
	ck_assert_int_eq(inode_change(&format, INO, &inode, bytes), EOVERFLOW);
	bytes[128] = 32;
	ck_assert_int_eq(inode_change(&format, INO, &inode, bytes), 0);
	inode.value.links = 65001;
	ck_assert_int_eq(inode_change(&format, INO, &inode, bytes), EMLINK);
}
END_TEST

/* Four inodes a block; the table's blocks hold anything. */
START_TEST(unwritten_tables)
{
	uint8_t raw[256], other[256];
	struct inode_decoded inode;
	const struct inode_value value = { .mode = S_IFREG | 0600, .links = 1, .flags = EXT4_EXTENTS_FL };

	set_format(true, 0);
	memset(memory[INODE_TABLE], 0xa5, 50 * BLOCK_BYTES);
	written_inodes = 6;
	ck_assert_int_eq(inode_store_read(&test_access, 30, raw, &inode), 0);
	ck_assert_uint_eq(inode.value.mode, 0);
	ck_assert_int_eq(inode_store_read(&test_access, 3, raw, &inode), EXT2_ET_INODE_CSUM_INVALID);
	ck_assert_int_eq(inode_store_read(&test_access, 0, raw, &inode), EXT2_ET_BAD_INODE_NUM);
	ck_assert_int_eq(inode_store_read(&test_access, 201, raw, &inode), EXT2_ET_BAD_INODE_NUM);
	ck_assert_int_eq(inode_encode(&format, 30, &value, NULL, raw), 0);
	ck_assert_int_eq(inode_store_write(&test_access, 30, raw), 0);
	ck_assert_uint_eq(written_inodes, 30);
	ck_assert_uint_eq(memory[INODE_TABLE + 1][511], 0xa5);
	for (uint32_t ino = 7; ino <= 32; ino++) {
		const uint8_t *at = memory[INODE_TABLE + (ino - 1) / 4] + (ino - 1) % 4 * 256;
		const uint8_t zeros[256] = { 0 };

		ck_assert_int_eq(memcmp(at, ino == 30 ? raw : zeros, 256), 0);
	}
	ck_assert_uint_eq(memory[INODE_TABLE + 8][0], 0xa5);
	ck_assert_int_eq(inode_store_read(&test_access, 30, other, &inode), 0);
	inode.value.links = 2;
	ck_assert_int_eq(inode_store_change(&test_access, 30, &inode), 0);
	ck_assert_int_eq(inode_store_read(&test_access, 30, other, &inode), 0);
	ck_assert_uint_eq(inode.value.links, 2);
	ck_assert_uint_eq(written_inodes, 30);
}
END_TEST

static Suite *map_cut_suite(void)
{
	Suite *suite = suite_create("map_cut");
	TCase *tests = tcase_create("map_cut");

	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, cuts, 0, sizeof(kinds) / sizeof(*kinds));
	tcase_add_test(tests, damaged_maps);
	tcase_add_test(tests, an_inode_that_does_not_change_stays_as_it_is);
	tcase_add_test(tests, a_project_needs_room);
	tcase_add_test(tests, unwritten_tables);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return run_suite(map_cut_suite());
}
