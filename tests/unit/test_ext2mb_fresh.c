/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large files on a filesystem that is nearly empty: what gets all that it asks for leaves the free space whole, and a
 * file that is written in no order ends in few pieces.
 */
#include <string.h>

#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

enum { FILES = 100 };

static struct ext2mb_file *open_one(struct small_image *image, unsigned int number, uint64_t final)
{
	const struct ext2mb_file_info info = {
		sizeof(info), final, 100 + number, 2, final ? EXT2MB_FILE_FINAL : 0,
	};
	struct ext2mb_file *file;

	ck_assert_ok(ext2mb_file_open(image->worker, &info, &file));
	return file;
}

/* Returns the pieces. */
static unsigned int write_at(struct small_image *image, struct ext2mb_file *file, uint64_t logical, uint64_t blocks,
                             uint32_t flags)
{
	const uint64_t end = logical + blocks;
	unsigned int pieces = 0;
	uint64_t behind = 0;

	while (logical < end) {
		const struct ext2mb_file_request request = {
			.struct_bytes = sizeof(request),
			.logical = logical,
			.count = end - logical,
			.whole_count = blocks,
			.flags = flags,
		};
		struct ext2mb_extent extent;

		ck_assert_ok(ext2mb_file_alloc(image->worker, file, &request, &extent));
		pieces += extent.start != behind;
		behind = extent.start + extent.count;
		logical += extent.count;
	}
	return pieces;
}

static const struct {
	const char *options;
	uint64_t blocks;
	uint32_t flags;
	bool is_final;
	bool stays_open;
	unsigned int more; /* free extents */
} cases[] = {
	{ "-t ext4 -b 4096 -O ^has_journal", 2048, EXT2MB_FILE_UNWRITTEN, false, true, 2 },
	{ "-t ext4 -b 4096 -O ^has_journal", 2048, EXT2MB_FILE_UNWRITTEN, false, false, 2 },
	{ "-t ext4 -b 4096 -O ^has_journal", 2048, 0, true, false, 2 },
	{ "-t ext4 -b 4096 -O ^has_journal", 2048, 0, false, false, 6 },
	{ "-t ext4 -b 4096 -O ^has_journal", 128, EXT2MB_FILE_UNWRITTEN, false, true, 2 },
	{ "-t ext4 -b 1024 -O ^has_journal", 512, EXT2MB_FILE_UNWRITTEN, false, true, 2 },
	{ "-t ext4 -b 4096 -O ^has_journal,bigalloc -C 16384", 2048, EXT2MB_FILE_UNWRITTEN, false, true, 2 },
};

START_TEST(test_together)
{
	static struct ext2mb_file *files[FILES];
	struct small_image image;
	unsigned int pieces = 0;

	mb_image_make(cases[_i].options, "8G");
	small_image_open(&image, NULL);
	unsigned int before = mb_free_extents(image.mb);
	for (unsigned int number = 0; number < FILES; number++) {
		files[number] = open_one(&image, number, cases[_i].is_final ? cases[_i].blocks : 0);
		pieces += write_at(&image, files[number], 0, cases[_i].blocks, cases[_i].flags);
		if (!cases[_i].stays_open)
			ext2mb_file_close(image.worker, files[number]);
	}
	for (unsigned int number = 0; cases[_i].stays_open && number < FILES; number++)
		ext2mb_file_close(image.worker, files[number]);
	ck_assert_uint_eq(pieces, FILES);
	mb_expect_free_extents(image.mb, before + cases[_i].more);
	small_image_close(&image);
}
END_TEST

/* Files that do go on begin groups of their own again, though most groups are free. */
START_TEST(test_goes_on)
{
	struct small_image image;
	unsigned int pieces = 0;

	mb_image_make("-t ext4 -b 4096 -O ^has_journal", "8G");
	small_image_open(&image, NULL);
	for (unsigned int number = 0; number < 10; number++) {
		struct ext2mb_file *file = open_one(&image, number, 0);
		uint64_t behind = 0;

		for (uint64_t logical = 0; logical < 8 * 2048; logical += 2048) {
			const struct ext2mb_file_request request = { .struct_bytes = sizeof(request),
				                                     .logical = logical,
				                                     .count = 2048 };
			struct ext2mb_extent extent;

			ck_assert_ok(ext2mb_file_alloc(image.worker, file, &request, &extent));
			ck_assert_uint_eq(extent.count, 2048);
			pieces += extent.start != behind;
			behind = extent.start + extent.count;
		}
		ext2mb_file_close(image.worker, file);
	}
	ck_assert_uint_eq(pieces, 10);
	small_image_close(&image);
}
END_TEST

enum { PAGES = 1500, PAGE_BLOCKS = 4 };

/* A request for one page; the caller knows the hole around it. */
static struct ext2mb_file_request ask_for(const uint64_t *physical, unsigned int page)
{
	unsigned int from = page, end = page + 1;

	while (from && !physical[from - 1])
		from--;
	while (end < PAGES && !physical[end])
		end++;
	return (struct ext2mb_file_request){
		.struct_bytes = sizeof(struct ext2mb_file_request),
		.logical = (uint64_t)page * PAGE_BLOCKS,
		.count = PAGE_BLOCKS,
		.hole_start = (uint64_t)from * PAGE_BLOCKS,
		.hole_end = end == PAGES ? UINT64_C(0xffffffff) : (uint64_t)end * PAGE_BLOCKS,
		.left_physical = from ? physical[from - 1] + PAGE_BLOCKS : 0,
		.right_physical = end == PAGES ? 0 : physical[end],
	};
}

/* A database that is written page by page in no order; in the end it has no hole. */
START_TEST(test_no_order)
{
	static uint64_t physical[PAGES];
	static unsigned int order[PAGES];
	struct random random = random_start("no order");
	struct small_image image;
	unsigned int pieces = 1;

	for (unsigned int page = 0; page < PAGES; page++) {
		unsigned int other = (unsigned int)random_below(&random, page + 1);

		order[page] = order[other];
		order[other] = page;
	}
	memset(physical, 0, sizeof(physical));
	mb_image_make("-t ext4 -b 4096 -O ^has_journal", "2G");
	small_image_open(&image, NULL);
	struct ext2mb_file *file = open_one(&image, 0, 0);
	for (unsigned int index = 0; index < PAGES; index++) {
		const struct ext2mb_file_request request = ask_for(physical, order[index]);
		struct ext2mb_extent extent;

		ck_assert_ok(ext2mb_file_alloc(image.worker, file, &request, &extent));
		ck_assert_uint_eq(extent.count, PAGE_BLOCKS);
		physical[order[index]] = extent.start;
	}
	for (unsigned int page = 1; page < PAGES; page++)
		pieces += physical[page] != physical[page - 1] + PAGE_BLOCKS;
	printf("# %u pieces\n", pieces);
	ck_assert_uint_le(pieces, 4);
	ext2mb_file_close(image.worker, file);
	small_image_close(&image);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ext2mb_fresh");
	TCase *tests = tcase_create("fresh");

	tcase_set_timeout(tests, 300);
	tcase_add_unchecked_fixture(tests, mb_image_setup, mb_image_teardown);
	tcase_add_loop_test(tests, test_together, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_test(tests, test_goes_on);
	tcase_add_test(tests, test_no_order);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
