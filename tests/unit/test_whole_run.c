/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EXT2MB_ALLOC_WHOLE and least_blocks: what is refused, how soon, and which windows are given back for it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

static struct ext2mb_stats read_stats(const struct small_image *image)
{
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };

	ck_assert_ok(ext2mb_read_stats(image->mb, &stats));
	return stats;
}

static errcode_t ask_whole(struct ext2mb_worker *worker, uint64_t count, struct ext2mb_extent *extent)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                          .count = count,
		                          .flags = EXT2MB_ALLOC_WHOLE };

	return ext2mb_alloc(worker, &request, extent);
}

static void close_image(struct small_image *image)
{
	mb_check(image->mb);
	ext2mb_worker_close(image->worker);
	ext2mb_close(image->mb);
	ck_assert_ok(ext2fs_close(image->fs));
}

/* Takes every block but one in `distance`. */
static void leave_single_blocks(struct small_image *image, uint64_t distance)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                          .count = 1 << 20,
		                          .flags = EXT2MB_ALLOC_PACK };
	struct ext2mb_extent extent;

	while (!ext2mb_alloc(image->worker, &request, &extent))
		for (uint64_t block = 0; block < extent.count; block += distance)
			ck_assert_ok(ext2mb_free(image->worker, extent.start + block, 1));
	ck_assert_ok(ext2mb_commit(image->mb));
}

/* The summaries of the groups are enough: none is looked through. What is longer than a group is a mistake. */
START_TEST(test_by_summaries)
{
	static const struct policy_options policies[] = { { .policy = POLICY_EXT2MB },
		                                          { .policy = POLICY_SERIES },
		                                          { .policy = POLICY_BASE },
		                                          { .allocator.optimize_scan = EXT2MB_SCAN_LINEAR } };
	const struct policy_options options = policies[_i];
	struct ext2mb_extent extent;
	struct small_image image;

	mb_image_make("-t ext4 -b 1024 -g 1024 -O ^has_journal", "128M");
	small_image_open_policy(&image, &options);
	leave_single_blocks(&image, 3);
	struct ext2mb_stats before = read_stats(&image);
	for (uint64_t count = 5; count <= 1024; count += count)
		ck_assert_error(ask_whole(image.worker, count, &extent), EXT2MB_ET_NO_SPACE);
	struct ext2mb_stats after = read_stats(&image);
	ck_assert_uint_eq(after.groups_scanned - before.groups_scanned, 0);
	ck_assert_uint_eq(after.extents_scanned - before.extents_scanned, 0);
	ck_assert_error(ask_whole(image.worker, 1025, &extent), EXT2MB_ET_BAD_ARGUMENT);
	close_image(&image);
}
END_TEST

/* Frees 4 blocks of each 16, from the offset on. */
static void free_quarters(struct small_image *image, const struct ext2mb_extent *extents, size_t count, uint64_t offset)
{
	for (size_t index = 0; index < count; index++)
		for (uint64_t block = offset; block + 4 <= extents[index].count; block += 16)
			ck_assert_ok(ext2mb_free(image->worker, extents[index].start + block, 4));
	ck_assert_ok(ext2mb_commit(image->mb));
}

/*
 * Runs of 8 blocks, joined of two halves, have a buddy of more than a quarter of 12 blocks, and nothing says how long
 * they are: the first request looks, and the next one does not.
 */
START_TEST(test_looks_once)
{
	struct ext2mb_options options = { .struct_bytes = sizeof(options) };
	struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                          .count = 1 << 20,
		                          .flags = EXT2MB_ALLOC_PACK };
	struct ext2mb_extent extents[400], extent;
	struct small_image image;
	size_t count = 0, longest = 0;

	mb_image_make("-t ext4 -b 1024 -g 1024 -O ^has_journal", "128M");
	small_image_open(&image, &options);
	for (; !ext2mb_alloc(image.worker, &request, &extents[count]); count++) {
		ck_assert_uint_lt(count + 1, sizeof(extents) / sizeof(*extents));
		if (extents[count].count > extents[longest].count)
			longest = count;
	}
	free_quarters(&image, extents, count, 0);
	free_quarters(&image, extents, count, 4);
	struct ext2mb_stats fresh = read_stats(&image);
	ck_assert_error(ask_whole(image.worker, 12, &extent), EXT2MB_ET_NO_SPACE);
	struct ext2mb_stats before = read_stats(&image);
	ck_assert_uint_gt(before.groups_scanned, fresh.groups_scanned);
	ck_assert_error(ask_whole(image.worker, 12, &extent), EXT2MB_ET_NO_SPACE);
	ck_assert_uint_eq(read_stats(&image).groups_scanned - before.groups_scanned, 0);
	/* A free that joins two runs is found. */
	ck_assert_ok(ext2mb_free(image.worker, extents[longest].start + 8, 8));
	ck_assert_ok(ext2mb_commit(image.mb));
	ck_assert_ok(ask_whole(image.worker, 12, &extent));
	close_image(&image);
}
END_TEST

#define FILES 12

struct books {
	struct small_image image;
	struct random random;
	struct ext2mb_file *files[FILES];
	uint64_t ends[FILES];
	uint8_t *is_used; /* by block: of the filesystem, handed out, or freed and not committed */
	uint64_t blocks;
	uint64_t group_blocks;
	uint64_t cluster_blocks;
};

/* In [from, end), not joined across groups. */
static bool has_run(const struct books *books, uint64_t from, uint64_t end, uint64_t count)
{
	uint64_t first = books->image.fs->super->s_first_data_block, run = 0;

	for (uint64_t block = from; block < end; block++) {
		if ((block - first) % books->group_blocks == 0)
			run = 0;
		run = books->is_used[block] ? 0 : run + 1;
		if (run == count)
			return true;
	}
	return false;
}

static void append(struct books *books)
{
	unsigned int index = (unsigned int)random_below(&books->random, FILES);
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12 + index, .parent = 2 + index % 3 };
	struct ext2mb_file_request request = { .struct_bytes = sizeof(request), .logical = books->ends[index] };
	struct ext2mb_extent extent;

	if (!books->files[index])
		ck_assert_ok(ext2mb_file_open(books->image.worker, &info, &books->files[index]));
	request.count = (1 + random_below(&books->random, index % 2 ? 3 : 40)) * books->cluster_blocks;
	if (ext2mb_file_alloc(books->image.worker, books->files[index], &request, &extent))
		return;
	memset(books->is_used + extent.start, 1, extent.count);
	books->ends[index] += extent.count;
}

/* Some of what is used becomes free, with or without a commit. */
static void make_room(struct books *books)
{
	uint64_t first = books->image.fs->super->s_first_data_block, cluster_blocks = books->cluster_blocks;
	uint64_t most = 200 * cluster_blocks, start = random_below(&books->random, books->blocks - most);

	start -= (start - first) % cluster_blocks;
	if (start < first)
		start = first;
	for (uint64_t clusters = 1 + random_below(&books->random, 200); clusters--; start += cluster_blocks)
		if (books->is_used[start] && !ext2mb_free(books->image.worker, start, cluster_blocks))
			memset(books->is_used + start, 2, cluster_blocks);
	if (random_below(&books->random, 2))
		return;
	ck_assert_ok(ext2mb_commit(books->image.mb));
	for (uint64_t block = 0; block < books->blocks; block++)
		books->is_used[block] = books->is_used[block] == 1;
}

/* A request for all or nothing, or with a minimum: anywhere, in a range, or at its goal. */
static struct ext2mb_request any_request(struct books *books)
{
	uint64_t order = books->cluster_blocks > 1 ? 8 : 10;
	uint64_t least = 1 + random_below(&books->random, UINT64_C(1) << random_below(&books->random, order));
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = least, .least_blocks = least };

	if (random_below(&books->random, 3))
		request.count += random_below(&books->random, 3 * least);
	request.count *= books->cluster_blocks;
	request.least_blocks *= books->cluster_blocks;
	if (random_below(&books->random, 2)) {
		request.flags = EXT2MB_ALLOC_PACK;
		request.goal = random_below(&books->random, books->blocks);
		request.limit = request.goal + random_below(&books->random, books->blocks - request.goal + 1);
	} else if (!random_below(&books->random, 4)) {
		request.flags = EXT2MB_ALLOC_GOAL_ONLY;
		request.goal = random_below(&books->random, books->blocks);
	} else if (request.count == request.least_blocks) {
		request.flags = EXT2MB_ALLOC_WHOLE;
		request.least_blocks = 0;
	}
	return request;
}

/* Whether what is free or in windows has what the request is for. */
static bool can_be_had(const struct books *books, const struct ext2mb_request *request, uint64_t least)
{
	uint64_t first = books->image.fs->super->s_first_data_block, cluster_blocks = books->cluster_blocks;
	uint64_t from = first, end = books->blocks;

	if (request->flags & EXT2MB_ALLOC_PACK) {
		from = request->goal < first ? first : request->goal;
		from += (cluster_blocks - (from - first) % cluster_blocks) % cluster_blocks;
		if (request->limit)
			end = request->limit < first ? first :
			                               request->limit - (request->limit - first) % cluster_blocks;
	} else if (request->flags & EXT2MB_ALLOC_GOAL_ONLY) {
		from = request->goal;
		end = from + least < end ? from + least : end;
		if (from <= first || (from - first) % cluster_blocks)
			return false;
	}
	return has_run(books, from, end, least);
}

static void ask_for_any(struct books *books)
{
	const struct ext2mb_request request = any_request(books);
	uint64_t reserved = ext2mb_reserved_blocks(books->image.mb);
	uint64_t least = request.least_blocks ? request.least_blocks : request.count;
	bool expected = can_be_had(books, &request, least);
	struct ext2mb_extent extent;

	errcode_t error = ext2mb_alloc(books->image.worker, &request, &extent);
	/* At its goal a request does not get what lies in windows. */
	if (error != (expected ? 0 : EXT2MB_ET_NO_SPACE) &&
	    !(request.flags & EXT2MB_ALLOC_GOAL_ONLY && reserved && error))
		ck_abort_msg("%llu to %llu blocks, flags %llx, [%llu, %llu): %s", (unsigned long long)least,
		             (unsigned long long)request.count, (unsigned long long)request.flags,
		             (unsigned long long)request.goal, (unsigned long long)request.limit, error_message(error));
	if (error) {
		ck_assert(request.flags & EXT2MB_ALLOC_PACK || ext2mb_reserved_blocks(books->image.mb) == reserved);
		return;
	}
	ck_assert_uint_ge(extent.count, least);
	ck_assert_uint_le(extent.count, request.count);
	ck_assert(has_run(books, extent.start, extent.start + extent.count, extent.count));
	memset(books->is_used + extent.start, 1, extent.count);
}

/* Against a map: refused if and only if free blocks and windows together have no such run, and then no window is lost.
 */
START_TEST(test_with_windows)
{
	static const struct policy_options choices[] = { { 0 },
		                                         { .allocator.locality = EXT2MB_LOCALITY_THREAD },
		                                         { .policy = POLICY_SERIES },
		                                         { .policy = POLICY_BASE } };
	struct books books = { .random = random_start("with windows") };
	const struct policy_options options = choices[_i % 4];
	struct ext2mb_extent extent = { 0 };

	mb_image_make(_i / 4 ? "-t ext4 -b 1024 -O ^has_journal,bigalloc -C 4096 -g 4096" :
	                       "-t ext4 -b 1024 -g 1024 -O ^has_journal",
	              _i / 4 ? "30M" : "9M");
	small_image_open_policy(&books.image, &options);
	books.cluster_blocks = (uint64_t)EXT2FS_CLUSTER_RATIO(books.image.fs);
	books.blocks = ext2fs_blocks_count(books.image.fs->super);
	books.group_blocks = books.image.fs->super->s_blocks_per_group;
	books.is_used = malloc(books.blocks);
	memset(books.is_used, 1, books.blocks);
	while (!ext2mb_next_free(books.image.mb, extent.start + extent.count, &extent))
		memset(books.is_used + extent.start, 0, extent.count);
	for (uint64_t number = 0; number < mb_operations(6000); number++) {
		uint64_t dice = random_below(&books.random, 10);

		if (dice < 6)
			append(&books);
		else if (dice < 7)
			make_room(&books);
		else
			ask_for_any(&books);
	}
	for (unsigned int index = 0; index < FILES; index++)
		ext2mb_file_close(books.image.worker, books.files[index]);
	close_image(&books.image);
	free(books.is_used);
}
END_TEST

/* A minimum does not stop the search at it: the most of count that can be had, but nothing below the minimum. */
START_TEST(test_least)
{
	static const struct policy_options policies[] = { { 0 },
		                                          { .policy = POLICY_SERIES },
		                                          { .policy = POLICY_BASE },
		                                          { .allocator.optimize_scan = EXT2MB_SCAN_LINEAR } };
	const struct policy_options options = policies[_i];
	struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                          .count = 1 << 20,
		                          .flags = EXT2MB_ALLOC_PACK };
	struct ext2mb_extent extent;
	struct small_image image;
	uint64_t at = 0;

	mb_image_make("-t ext4 -b 1024 -g 1024 -O ^has_journal", "64M");
	small_image_open_policy(&image, &options);
	/* Runs of 1 to 30 blocks, each once, and one of them in use between any two. */
	while (!ext2mb_alloc(image.worker, &request, &extent))
		if (!at && extent.count > 600)
			at = extent.start;
	uint64_t start = at;
	for (uint64_t length = 1; length <= 30; start += ++length)
		ck_assert_ok(ext2mb_free(image.worker, start, length));
	ck_assert_ok(ext2mb_commit(image.mb));

	request = (struct ext2mb_request){ .struct_bytes = sizeof(request), .count = 500, .least_blocks = 31 };
	ck_assert_error(ext2mb_alloc(image.worker, &request, &extent), EXT2MB_ET_NO_SPACE);
	ck_assert_uint_eq(read_stats(&image).least_requests, 1);
	ck_assert_uint_eq(read_stats(&image).least_refusals, 1);
	for (uint64_t least = 30; least >= 20; least--) {
		request.least_blocks = least;
		ck_assert_ok(ext2mb_alloc(image.worker, &request, &extent));
		ck_assert_uint_eq(extent.count, least);
	}
	ck_assert_error(ext2mb_alloc(image.worker, &request, &extent), EXT2MB_ET_NO_SPACE);
	/* The first that is long enough, not the first. */
	request.flags = EXT2MB_ALLOC_PACK;
	request.least_blocks = 7;
	request.count = 9;
	for (uint64_t length = 7; length <= 19; length++) {
		ck_assert_ok(ext2mb_alloc(image.worker, &request, &extent));
		ck_assert_uint_eq(extent.start, at + length * (length + 1) / 2 - 1);
		ck_assert_uint_eq(extent.count, length < 9 ? length : 9);
		/* The rest must not leave a run of 7, or it would come next. */
		if (length > 15)
			ck_assert_ok(ext2mb_alloc(image.worker, &request, &extent));
	}
	request.least_blocks = 0;
	ck_assert_ok(ext2mb_alloc(image.worker, &request, &extent));
	ck_assert_uint_eq(extent.start, at);
	request = (struct ext2mb_request){ .struct_bytes = sizeof(request), .count = 5, .least_blocks = 6 };
	ck_assert_error(ext2mb_alloc(image.worker, &request, &extent), EXT2MB_ET_BAD_ARGUMENT);
	request = (struct ext2mb_request){ .struct_bytes = sizeof(request), .count = 1 << 20, .least_blocks = 1025 };
	ck_assert_error(ext2mb_alloc(image.worker, &request, &extent), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_uint_eq(read_stats(&image).least_refusals, 2);
	close_image(&image);
}
END_TEST

/* Threads that append keep their windows while another one asks for what there is not. */
struct appender {
	struct ext2mb *mb;
	pthread_t thread;
	ext2_ino_t ino;
	_Atomic bool *is_over;
};

static void *append_and_truncate(void *argument)
{
	struct appender *appender = argument;
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = appender->ino, .parent = 2 };
	struct ext2mb_extent extents[256];
	struct ext2mb_worker *worker;
	struct ext2mb_file *file;

	ck_assert_ok(ext2mb_worker_open(appender->mb, &worker));
	ck_assert_ok(ext2mb_file_open(worker, &info, &file));
	while (!atomic_load(appender->is_over)) {
		struct ext2mb_file_request request = { .struct_bytes = sizeof(request), .count = 4 };
		unsigned int count = 0;

		for (; count < 256; request.logical += extents[count++].count)
			ck_assert_ok(ext2mb_file_alloc(worker, file, &request, &extents[count]));
		ext2mb_file_truncate(worker, file, 0);
		while (count--)
			ck_assert_ok(ext2mb_free(worker, extents[count].start, extents[count].count));
		ck_assert_ok(ext2mb_commit(appender->mb));
	}
	ext2mb_file_close(worker, file);
	ext2mb_worker_close(worker);
	return NULL;
}

START_TEST(test_others_keep_windows)
{
	struct ext2mb_request middle = { .struct_bytes = sizeof(middle), .count = 1, .flags = EXT2MB_ALLOC_GOAL_ONLY };
	_Atomic bool is_over = false;
	struct appender appenders[2];
	struct ext2mb_extent extent;
	struct small_image image;

	mb_image_make("-t ext4 -b 1024 -g 8192", "100M");
	small_image_open(&image, NULL);
	for (uint64_t group = 0; group < image.fs->group_desc_count; group++) {
		middle.goal = 1 + group * 8192 + 4096;
		(void)!ext2mb_alloc(image.worker, &middle, &extent);
	}
	for (unsigned int number = 0; number < 2; number++) {
		appenders[number] = (struct appender){ image.mb, 0, 20 + number, &is_over };
		ck_assert_int_eq(
			pthread_create(&appenders[number].thread, NULL, append_and_truncate, &appenders[number]), 0);
	}
	for (uint64_t number = 0; number < mb_operations(2000); number++)
		ck_assert_error(ask_whole(image.worker, 5000, &extent), EXT2MB_ET_NO_SPACE);
	ck_assert_uint_eq(read_stats(&image).preallocation_discards, 0);
	atomic_store(&is_over, true);
	for (unsigned int number = 0; number < 2; number++)
		pthread_join(appenders[number].thread, NULL);
	close_image(&image);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("whole_run");
	TCase *tests = mb_image_case(suite);

	tcase_add_test(tests, test_looks_once);
	tcase_add_loop_test(tests, test_by_summaries, 0, 4);
	tcase_add_loop_test(tests, test_with_windows, 0, 8);
	tcase_add_loop_test(tests, test_least, 0, 4);
	tcase_add_test(tests, test_others_keep_windows);
	return run_suite(suite);
}
