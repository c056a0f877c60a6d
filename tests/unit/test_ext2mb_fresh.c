/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files on a filesystem that is nearly empty: what gets all that it asks for leaves the free space whole, and so do
 * files that grow side by side; a file that is written in no order ends in few pieces.
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

/* Returns the pieces that do not go on at *behind, which becomes the last one's end. */
static unsigned int append(struct small_image *image, struct ext2mb_file *file, uint64_t logical, uint64_t blocks,
                           uint32_t flags, uint64_t *behind)
{
	const uint64_t end = logical + blocks;
	unsigned int pieces = 0;

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
		pieces += extent.start != *behind;
		*behind = extent.start + extent.count;
		logical += extent.count;
	}
	return pieces;
}

/* Returns the pieces. */
static unsigned int write_at(struct small_image *image, struct ext2mb_file *file, uint64_t logical, uint64_t blocks,
                             uint32_t flags)
{
	uint64_t behind = 0;

	return append(image, file, logical, blocks, flags, &behind);
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

/* Writes one of so many pages; the caller knows the hole around it. */
static void write_page(struct small_image *image, struct ext2mb_file *file, uint64_t *physical, unsigned int pages,
                       unsigned int page)
{
	unsigned int from = page, end = page + 1;

	while (from && !physical[from - 1])
		from--;
	while (end < pages && !physical[end])
		end++;
	const struct ext2mb_file_request request = {
		.struct_bytes = sizeof(struct ext2mb_file_request),
		.logical = (uint64_t)page * PAGE_BLOCKS,
		.count = PAGE_BLOCKS,
		.hole_start = (uint64_t)from * PAGE_BLOCKS,
		.hole_end = end == pages ? UINT64_C(0xffffffff) : (uint64_t)end * PAGE_BLOCKS,
		.left_physical = from ? physical[from - 1] + PAGE_BLOCKS : 0,
		.right_physical = end == pages ? 0 : physical[end],
	};
	struct ext2mb_extent extent;

	ck_assert_ok(ext2mb_file_alloc(image->worker, file, &request, &extent));
	ck_assert_uint_eq(extent.count, PAGE_BLOCKS);
	physical[page] = extent.start;
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
	for (unsigned int index = 0; index < PAGES; index++)
		write_page(&image, file, physical, PAGES, order[index]);
	for (unsigned int page = 1; page < PAGES; page++)
		pieces += physical[page] != physical[page - 1] + PAGE_BLOCKS;
	printf("# %u pieces\n", pieces);
	ck_assert_uint_le(pieces, 4);
	ext2mb_file_close(image.worker, file);
	small_image_close(&image);
}
END_TEST

/* Files that grow side by side to a power of two: their last preallocations leave nothing. */
START_TEST(test_in_turns)
{
	enum { STREAMS = 64 };
	static const struct {
		const char *options;
		uint64_t blocks, step;
		uint32_t flags;
		unsigned int pieces; /* of a file */
	} rows[] = {
		{ "-t ext4 -b 4096 -O ^has_journal", 256, 2, EXT2MB_FILE_UNWRITTEN, 4 },
		{ "-t ext4 -b 4096 -O ^has_journal", 256, 15, 0, 3 },
		{ "-t ext4 -b 4096 -O ^has_journal", 512, 2, 0, 4 },
		{ "-t ext4 -b 1024 -O ^has_journal", 1024, 8, EXT2MB_FILE_UNWRITTEN, 6 },
	};
	static struct ext2mb_file *files[STREAMS];
	struct small_image image;
	unsigned int pieces = 0;
	uint64_t ends[STREAMS] = { 0 };

	mb_image_make(rows[_i].options, "8G");
	small_image_open(&image, NULL);
	unsigned int before = mb_free_extents(image.mb);
	for (unsigned int number = 0; number < STREAMS; number++)
		files[number] = open_one(&image, number, 0);
	for (uint64_t logical = 0; logical < rows[_i].blocks; logical += rows[_i].step) {
		uint64_t left = rows[_i].blocks - logical, step = left < rows[_i].step ? left : rows[_i].step;

		for (unsigned int number = 0; number < STREAMS; number++)
			pieces += append(&image, files[number], logical, step, rows[_i].flags, &ends[number]);
	}
	for (unsigned int number = 0; number < STREAMS; number++)
		ext2mb_file_close(image.worker, files[number]);
	ck_assert_uint_le(pieces, STREAMS * rows[_i].pieces);
	mb_expect_free_extents(image.mb, before + 8);
	small_image_close(&image);
}
END_TEST

/* The files of a package, which fallocate(2) reserves and which are open until all are written. */
START_TEST(test_package)
{
	struct random random = random_start("package");
	static struct ext2mb_file *files[FILES];
	struct small_image image;

	mb_image_make("-t ext4 -b 4096 -O ^has_journal", "8G");
	small_image_open(&image, NULL);
	unsigned int before = mb_free_extents(image.mb);
	for (unsigned int number = 0; number < FILES; number++) {
		files[number] = open_one(&image, number, 0);
		write_at(&image, files[number], 0, 1 + random_below(&random, 16), EXT2MB_FILE_UNWRITTEN);
	}
	for (unsigned int number = 0; number < FILES; number++)
		ext2mb_file_close(image.worker, files[number]);
	mb_expect_free_extents(image.mb, before + 4);
	small_image_close(&image);
}
END_TEST

/* Frees runs with room for a chunk of 8 MiB each in a filesystem that was full. */
static void cut_free_space(struct small_image *image)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                          .count = 1 << 20,
		                          .flags = EXT2MB_ALLOC_PACK };
	struct ext2mb_extent extent;

	while (!ext2mb_alloc(image->worker, &request, &extent))
		for (uint64_t done = 0; done + 3000 < extent.count; done += 3500)
			ck_assert_ok(ext2mb_free(image->worker, extent.start + done, 3000));
	ck_assert_ok(ext2mb_commit(image->mb));
}

/* A machine's image, written here and there: its pieces are chunks of 8 MiB, however many preallocations it cuts up. */
START_TEST(test_sparse)
{
	enum { PAGES_OF_200_MIB = 12800 };
	static uint64_t physical[PAGES_OF_200_MIB];
	struct random random = random_start("sparse");
	struct small_image image;
	unsigned int pieces = 0;
	uint64_t last = 0;

	memset(physical, 0, sizeof(physical));
	mb_image_make("-t ext4 -b 4096 -O ^has_journal", "1G");
	small_image_open(&image, NULL);
	cut_free_space(&image);
	const struct ext2mb_file_info info = { sizeof(info), PAGES_OF_200_MIB * PAGE_BLOCKS, 100, 2, 0 };
	struct ext2mb_file *file;
	ck_assert_ok(ext2mb_file_open(image.worker, &info, &file));
	for (unsigned int written = 0; written < 800; written++) {
		unsigned int page = (unsigned int)random_below(&random, PAGES_OF_200_MIB);

		if (!physical[page])
			write_page(&image, file, physical, PAGES_OF_200_MIB, page);
	}
	for (unsigned int page = 0; page < PAGES_OF_200_MIB; page++) {
		if (!physical[page])
			continue;
		pieces += physical[page] - (uint64_t)page * PAGE_BLOCKS != last;
		last = physical[page] - (uint64_t)page * PAGE_BLOCKS;
	}
	printf("# %u pieces\n", pieces);
	ck_assert_uint_le(pieces, 27);
	ext2mb_file_close(image.worker, file);
	small_image_close(&image);
}
END_TEST

/* Mailboxes, which are opened anew for each message: none goes on in turns with its neighbour. */
START_TEST(test_opened_anew)
{
	enum { BOXES = 20, MESSAGE = 3 };
	struct random random = random_start("opened anew");
	uint64_t blocks[BOXES] = { 0 }, ends[BOXES] = { 0 };
	struct small_image image;
	unsigned int pieces = 0;

	mb_image_make("-t ext4 -b 4096 -O ^has_journal", "1G");
	small_image_open(&image, NULL);
	cut_free_space(&image);
	for (unsigned int message = 0; message < 1500; message++) {
		uint64_t box = message < BOXES ? message : random_below(&random, BOXES);
		const struct ext2mb_file_info info = { sizeof(info), blocks[box], 100 + (ext2_ino_t)box, 2, 0 };
		const struct ext2mb_file_request request = {
			.struct_bytes = sizeof(request),
			.logical = blocks[box],
			.count = blocks[box] ? MESSAGE : 60,
			.hole_start = blocks[box],
			.hole_end = UINT64_C(0xffffffff),
			.left_physical = ends[box],
		};
		struct ext2mb_file *file;
		struct ext2mb_extent extent;

		ck_assert_ok(ext2mb_file_open(image.worker, &info, &file));
		ck_assert_ok(ext2mb_file_alloc(image.worker, file, &request, &extent));
		ext2mb_file_close(image.worker, file);
		pieces += extent.start != ends[box];
		ends[box] = extent.start + extent.count;
		blocks[box] += extent.count;
	}
	printf("# %u pieces\n", pieces);
	ck_assert_uint_le(pieces, 3 * BOXES);
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
	tcase_add_loop_test(tests, test_in_turns, 0, 4);
	tcase_add_test(tests, test_package);
	tcase_add_test(tests, test_sparse);
	tcase_add_test(tests, test_opened_anew);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
