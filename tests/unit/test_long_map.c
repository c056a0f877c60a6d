// SPDX-License-Identifier: GPL-2.0-or-later
/* extents_punch() against a naive map of block to block. */
#include "populate/long_map.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

#define BLOCKS 512

static unsigned int seed;

/* Physical block of each logical one, 0 for a hole. */
struct naive_map {
	uint64_t physical[BLOCKS];
};

static void add(struct naive_map *map, const struct file_extent *extents, uint32_t count)
{
	for (uint32_t extent = 0; extent < count; extent++)
		for (uint32_t block = 0; block < extents[extent].count; block++) {
			/* Asserting each would cost a message to Check's parent each. */
			if (extents[extent].logical + block >= BLOCKS ||
			    map->physical[extents[extent].logical + block])
				ck_abort_msg("block %u is beyond the file or mapped twice",
				             extents[extent].logical + block);
			map->physical[extents[extent].logical + block] = extents[extent].physical + block;
		}
}

static uint32_t random_extents(struct file_extent *extents)
{
	uint32_t count = 0, logical = 0, physical = 1000;

	while (logical < BLOCKS - 40) {
		uint32_t length = 1 + (uint32_t)rand_r(&seed) % 20;

		logical += (uint32_t)rand_r(&seed) % 3 ? 0 : (uint32_t)rand_r(&seed) % 10;
		physical += 1 + (uint32_t)rand_r(&seed) % 50;
		extents[count++] = (struct file_extent){ logical, length, physical };
		logical += length;
		physical += length;
	}
	return count;
}

/* Runs of mapped blocks that may cross from one extent into the next. */
static size_t random_runs(const struct naive_map *map, struct block_run *runs)
{
	size_t count = 0;
	uint32_t density = 2 + (uint32_t)rand_r(&seed) % 20;

	for (uint32_t block = 0; block < BLOCKS; block++) {
		if (!map->physical[block] || (uint32_t)rand_r(&seed) % density)
			continue;
		uint32_t length = 1;

		while (block + length < BLOCKS && map->physical[block + length] && rand_r(&seed) % 4)
			length++;
		runs[count++] = (struct block_run){ block, length };
		block += length - 1;
	}
	return count;
}

START_TEST(punches_like_a_naive_map)
{
	for (int round = 0; round < 300; round++) {
		struct file_extent extents[BLOCKS], kept[2 * BLOCKS], freed[2 * BLOCKS];
		struct block_run runs[BLOCKS];
		struct naive_map before = { 0 }, after = { 0 };
		uint32_t kept_count, freed_count;
		uint32_t count = random_extents(extents);
		uint64_t freed_blocks = 0, wanted_blocks = 0;

		add(&before, extents, count);
		size_t run_count = random_runs(&before, runs);
		extents_punch(extents, count, runs, run_count, kept, &kept_count, freed, &freed_count);
		ck_assert_uint_le(kept_count, count + run_count);
		add(&after, kept, kept_count);
		for (uint32_t extent = 0; extent < freed_count; extent++)
			freed_blocks += freed[extent].count;
		for (size_t run = 0; run < run_count; run++)
			for (uint32_t block = 0; block < runs[run].count; block++) {
				uint64_t physical = before.physical[runs[run].logical + block];
				int found = 0;

				wanted_blocks++;
				for (uint32_t extent = 0; extent < freed_count; extent++)
					found += physical >= freed[extent].physical &&
					         physical < freed[extent].physical + freed[extent].count;
				if (found != 1)
					ck_abort_msg("a punched block was freed %d times", found);
				before.physical[runs[run].logical + block] = 0;
			}
		ck_assert_uint_eq(freed_blocks, wanted_blocks);
		ck_assert_mem_eq(&before, &after, sizeof(before));
	}
}
END_TEST

START_TEST(map_keeps_extents_and_has_room_for_its_blocks)
{
	struct file_extent extents[3] = { { 0, 1, 10 }, { 5, 2, 20 }, { 9, 3, 30 } };
	struct long_map *map = long_map_create(extents, 3, 2);

	ck_assert_ptr_nonnull(map);
	ck_assert_mem_eq(map->extents, extents, sizeof(extents));
	map->map_blocks[0] = map->map_blocks[1] = UINT64_MAX;
	ck_assert_mem_eq(map->extents, extents, sizeof(extents));
	free(map);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("long_map");
	TCase *tests = tcase_create("punch");

	seed = getenv("TEST_SEED") ? (unsigned int)atoi(getenv("TEST_SEED")) : 1;
	printf("# seed %u (TEST_SEED)\n", seed);
	fflush(stdout);
	tcase_add_test(tests, punches_like_a_naive_map);
	tcase_add_test(tests, map_keeps_extents_and_has_room_for_its_blocks);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
