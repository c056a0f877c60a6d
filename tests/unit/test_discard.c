/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The discard function gets exactly the runs that a commit releases, joined, in order, and before they can be
 * allocated. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

struct geometry_case {
	const char *options;
	const char *size;
};

/* Small groups, so that many runs go on in the next one: without flex_bg, only where no metadata stands between. */
static const struct geometry_case cases[] = {
	{ "-t ext4 -b 4096 -g 512 -O ^has_journal,^resize_inode -G 64", "120M" },
	{ "-t ext4 -b 1024 -O ^has_journal", "60001K" },
	{ "-t ext4 -b 4096 -O bigalloc,^has_journal -C 16384 -g 8192", "700M" },
};

static struct {
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	ext2_filsys fs;
	struct ext2mb_extent *shown;
	size_t shown_count;
	errcode_t error; /* what the function returns of the second run */
	bool probes;     /* it tries to allocate what it is shown, which must fail */
} test;

static errcode_t note(void *context, uint64_t start, uint64_t count)
{
	ck_assert_ptr_eq(context, &test);
	if (test.probes) {
		struct ext2mb_request request = { .struct_bytes = sizeof(request),
			                          .goal = start,
			                          .limit = start + count,
			                          .count = count,
			                          .flags = EXT2MB_ALLOC_PACK };
		struct ext2mb_extent extent;

		ck_assert_error(ext2mb_alloc(test.worker, &request, &extent), EXT2MB_ET_NO_SPACE);
	}
	test.shown[test.shown_count++] = (struct ext2mb_extent){ start, count };
	return test.shown_count == 2 ? test.error : 0;
}

static void open_test(const struct geometry_case *geometry, ext2mb_discard_function discard)
{
	struct ext2mb_options options = { .struct_bytes = sizeof(options),
		                          .discard = discard,
		                          .discard_context = &test };

	mb_image_make(geometry->options, geometry->size);
	memset(&test, 0, sizeof(test));
	test.fs = mb_image_open();
	test.shown = calloc(ext2fs_blocks_count(test.fs->super), sizeof(*test.shown));
	ck_assert_ok(ext2mb_open(test.fs, &options, &test.mb));
	ck_assert_ok(ext2mb_worker_open(test.mb, &test.worker));
}

static void close_test(void)
{
	mb_check(test.mb);
	ext2mb_worker_close(test.worker);
	ext2mb_close(test.mb);
	ck_assert_ok(ext2fs_close(test.fs));
	free(test.shown);
}

static void take_everything(uint8_t *is_ours)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                          .count = UINT64_C(1) << 20,
		                          .flags = EXT2MB_ALLOC_PACK };
	struct ext2mb_extent extent;

	while (!ext2mb_alloc(test.worker, &request, &extent))
		memset(is_ours + extent.start, 1, extent.count);
}

/* Frees up to count blocks from start on, as long as they are ours, which the model notes. */
static void free_some(uint8_t *is_ours, uint8_t *is_freed, uint64_t start, uint64_t count)
{
	uint64_t cluster_blocks = (uint64_t)EXT2FS_CLUSTER_RATIO(test.fs);
	uint64_t end = start;

	while (end < start + count && is_ours[end])
		end += cluster_blocks;
	if (end == start)
		return;
	ck_assert_ok(ext2mb_free(test.worker, start, end - start));
	memset(is_ours + start, 0, end - start);
	memset(is_freed + start, 1, end - start);
}

/* The shown runs must be those of the model: all of them, each as long as it can be, in order. */
static void compare_shown(uint8_t *is_freed, uint64_t blocks)
{
	size_t index = 0;

	for (uint64_t block = 0; block < blocks; block++) {
		uint64_t end = block;

		while (end < blocks && is_freed[end])
			end++;
		if (end == block)
			continue;
		ck_assert_uint_lt(index, test.shown_count);
		if (test.shown[index].start != block || test.shown[index].count != end - block)
			ck_abort_msg("run %zu is %llu+%llu instead of %llu+%llu", index,
			             (unsigned long long)test.shown[index].start,
			             (unsigned long long)test.shown[index].count, (unsigned long long)block,
			             (unsigned long long)(end - block));
		index++;
		block = end;
	}
	ck_assert_uint_eq(index, test.shown_count);
	memset(is_freed, 0, blocks);
	test.shown_count = 0;
}

START_TEST(test_model)
{
	struct random random = random_start(cases[_i].options);

	open_test(&cases[_i], note);
	uint64_t blocks = ext2fs_blocks_count(test.fs->super);
	uint64_t first = test.fs->super->s_first_data_block;
	uint64_t cluster_blocks = (uint64_t)EXT2FS_CLUSTER_RATIO(test.fs);
	uint8_t *is_ours = calloc(blocks + cluster_blocks, 1);
	uint8_t *is_freed = calloc(blocks, 1);
	size_t across = 0;

	test.probes = true;
	for (unsigned int round = 0; round < 12; round++) {
		unsigned int frees = 1 + (unsigned int)random_below(&random, 300);
		uint64_t most = UINT64_C(1) << random_below(&random, 15);

		take_everything(is_ours);
		for (unsigned int number = 0; number < frees; number++)
			free_some(is_ours, is_freed,
			          first + random_below(&random, (blocks - first) / cluster_blocks) * cluster_blocks,
			          cluster_blocks * (1 + random_below(&random, most)));
		ck_assert_ok(round % 3 == 2 ? ext2mb_sync(test.mb) : ext2mb_commit(test.mb));
		for (size_t index = 0; index < test.shown_count; index++)
			across += (test.shown[index].start - first) / test.fs->super->s_blocks_per_group !=
			          (test.shown[index].start + test.shown[index].count - 1 - first) /
			                  test.fs->super->s_blocks_per_group;
		compare_shown(is_freed, blocks);
	}
	ck_assert_msg(across, "no run went on in the next group");
	ck_assert_ok(ext2mb_commit(test.mb));
	ck_assert_uint_eq(test.shown_count, 0);
	free(is_ours);
	free(is_freed);
	close_test();
}
END_TEST

/* Errors come back, the first of them, but nobody's blocks stay behind. */
START_TEST(test_error)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 60, .flags = EXT2MB_ALLOC_WHOLE };
	struct ext2mb_extent extent;

	open_test(&cases[0], note);
	uint64_t free_blocks = ext2mb_free_blocks(test.mb);
	for (unsigned int sync = 0; sync < 2; sync++) {
		ck_assert_ok(ext2mb_alloc(test.worker, &request, &extent));
		for (uint64_t offset = 0; offset < 60; offset += 20)
			ck_assert_ok(ext2mb_free(test.worker, extent.start + offset, 10));
		test.error = EIO;
		ck_assert_error(sync ? ext2mb_sync(test.mb) : ext2mb_commit(test.mb), EIO);
		ck_assert_uint_eq(test.shown_count, 3);
		test.error = 0;
		for (uint64_t offset = 10; offset < 60; offset += 20)
			ck_assert_ok(ext2mb_free(test.worker, extent.start + offset, 10));
		ck_assert_ok(ext2mb_commit(test.mb));
		test.shown_count = 0;
		ck_assert_uint_eq(ext2mb_free_blocks(test.mb), free_blocks);
	}
	close_test();
}
END_TEST

#define THREADS 3
#define MOST_HELD 64

static _Atomic uint8_t *cover; /* by block: 1 taken by a thread, 2 freed */
static _Atomic uint64_t blocks_freed;
static _Atomic uint64_t blocks_shown;
static _Atomic bool is_over;

/* Each block that is shown must have been freed, and be shown once. */
static errcode_t uncover(void *context, uint64_t start, uint64_t count)
{
	(void)context;
	for (uint64_t block = start; block < start + count; block++)
		if (atomic_exchange(&cover[block], 0) != 2)
			ck_abort_msg("block %llu was shown but not freed", (unsigned long long)block);
	atomic_fetch_add(&blocks_shown, count);
	return 0;
}

static void take_one(struct ext2mb_worker *worker, struct random *random, struct ext2mb_extent *extent)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 1 + random_below(random, 100) };

	/* The missing blocks wait for the committing thread. */
	errcode_t error;
	while ((error = ext2mb_alloc(worker, &request, extent)) == EXT2MB_ET_NO_SPACE)
		sched_yield();
	ck_assert_ok(error);
	for (uint64_t block = extent->start; block < extent->start + extent->count; block++)
		if (atomic_exchange(&cover[block], 1))
			ck_abort_msg("block %llu was handed out before it was shown", (unsigned long long)block);
}

static void give_one(struct ext2mb_worker *worker, const struct ext2mb_extent *extent)
{
	for (uint64_t block = extent->start; block < extent->start + extent->count; block++)
		atomic_store(&cover[block], 2);
	ck_assert_ok(ext2mb_free(worker, extent->start, extent->count));
	atomic_fetch_add(&blocks_freed, extent->count);
}

static void *churn(void *argument)
{
	struct random random = { (uint64_t)(uintptr_t)argument };
	struct ext2mb_extent held[MOST_HELD] = { 0 };
	struct ext2mb_worker *worker;

	ck_assert_ok(ext2mb_worker_open(test.mb, &worker));
	for (uint64_t number = 0; number < mb_operations(20000); number++) {
		struct ext2mb_extent *extent = &held[random_below(&random, MOST_HELD)];

		if (extent->count)
			give_one(worker, extent);
		take_one(worker, &random, extent);
	}
	for (unsigned int index = 0; index < MOST_HELD; index++)
		if (held[index].count)
			give_one(worker, &held[index]);
	ext2mb_worker_close(worker);
	return NULL;
}

static void *commit_again_and_again(void *argument)
{
	while (!atomic_load(&is_over))
		ck_assert_ok(ext2mb_commit(test.mb));
	return argument;
}

/* Nothing is handed out again before it was shown, and in the end all has been. */
START_TEST(test_threads)
{
	struct random random = random_start("threads");
	pthread_t threads[THREADS];
	pthread_t committer;

	open_test(&cases[0], uncover);
	uint64_t free_blocks = ext2mb_free_blocks(test.mb);
	cover = calloc(ext2fs_blocks_count(test.fs->super), 1);
	ck_assert_int_eq(pthread_create(&committer, NULL, commit_again_and_again, NULL), 0);
	for (unsigned int index = 0; index < THREADS; index++)
		ck_assert_int_eq(pthread_create(&threads[index], NULL, churn, (void *)(uintptr_t)random_next(&random)),
		                 0);
	for (unsigned int index = 0; index < THREADS; index++)
		pthread_join(threads[index], NULL);
	atomic_store(&is_over, true);
	pthread_join(committer, NULL);
	ck_assert_ok(ext2mb_commit(test.mb));
	ck_assert_uint_eq(blocks_shown, blocks_freed);
	ck_assert_uint_eq(ext2mb_free_blocks(test.mb), free_blocks);
	free((void *)cover);
	close_test();
}
END_TEST

/* Frees what touches the run on both sides: that belongs to the next commit, which alone may release it. */
static errcode_t free_neighbours(void *context, uint64_t start, uint64_t count)
{
	(void)context;
	if (!test.shown_count) {
		ck_assert_ok(ext2mb_free(test.worker, start - 16, 16));
		ck_assert_ok(ext2mb_free(test.worker, start + count, 16));
	}
	test.shown[test.shown_count++] = (struct ext2mb_extent){ start, count };
	return 0;
}

START_TEST(test_frees_meanwhile)
{
	static const uint32_t dropped[] = { 0, CHOICE_OWN_PENDING, CHOICE_OWN_PENDING | CHOICE_MERGE_FIRST };
	const struct policy_options options = { .allocator.discard = free_neighbours, .choices_dropped = dropped[_i] };
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 48, .flags = EXT2MB_ALLOC_WHOLE };
	struct ext2mb_extent extent;

	mb_image_make(cases[0].options, cases[0].size);
	memset(&test, 0, sizeof(test));
	test.fs = mb_image_open();
	test.shown = calloc(8, sizeof(*test.shown));
	ck_assert_ok(policy_open(test.fs, &options, &test.mb));
	ck_assert_ok(ext2mb_worker_open(test.mb, &test.worker));
	ck_assert_ok(ext2mb_alloc(test.worker, &request, &extent));
	uint64_t free_blocks = ext2mb_free_blocks(test.mb);
	ck_assert_ok(ext2mb_free(test.worker, extent.start + 16, 16));
	ck_assert_ok(ext2mb_commit(test.mb));
	ck_assert_uint_eq(test.shown_count, 1);
	ck_assert_uint_eq(test.shown[0].start, extent.start + 16);
	ck_assert_uint_eq(test.shown[0].count, 16);
	ck_assert_uint_eq(ext2mb_free_blocks(test.mb), free_blocks + 16);
	mb_check(test.mb);
	ck_assert_ok(ext2mb_commit(test.mb));
	ck_assert_uint_eq(test.shown_count, 3);
	ck_assert_uint_eq(test.shown[1].start, extent.start);
	ck_assert_uint_eq(test.shown[1].count, 16);
	ck_assert_uint_eq(test.shown[2].start, extent.start + 32);
	ck_assert_uint_eq(test.shown[2].count, 16);
	ck_assert_uint_eq(ext2mb_free_blocks(test.mb), free_blocks + 48);
	close_test();
}
END_TEST

static pthread_t other_committer;

static void *commit_once(void *argument)
{
	(void)argument;
	ck_assert_ok(ext2mb_commit(test.mb));
	return NULL;
}

/* Gives another commit the time to show the same run, which it must not. */
static errcode_t let_another_commit(void *context, uint64_t start, uint64_t count)
{
	const struct timespec a_while = { .tv_nsec = 20000000 };

	(void)context, (void)start, (void)count;
	if (atomic_fetch_add(&blocks_shown, 1))
		return 0;
	ck_assert_int_eq(pthread_create(&other_committer, NULL, commit_once, NULL), 0);
	nanosleep(&a_while, NULL);
	return 0;
}

START_TEST(test_one_commit_at_a_time)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 16 };
	struct ext2mb_extent extent;

	blocks_shown = 0;
	open_test(&cases[0], let_another_commit);
	ck_assert_ok(ext2mb_alloc(test.worker, &request, &extent));
	ck_assert_ok(ext2mb_free(test.worker, extent.start, extent.count));
	ck_assert_ok(ext2mb_commit(test.mb));
	pthread_join(other_committer, NULL);
	ck_assert_uint_eq(blocks_shown, 1);
	close_test();
}
END_TEST

/* What a discard function may do, and what it is refused, under every policy: every call of the interface. */
static errcode_t write_nowhere(void *context, const char *text, size_t bytes)
{
	*(size_t *)context += text[bytes - 1] == '\n';
	return 0;
}

static void call_for_blocks(struct ext2mb_worker *worker)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 3 };
	struct ext2mb_extent extent;
	enum ext2mb_block_use use;
	uint64_t alike;

	ck_assert_ok(ext2mb_alloc(worker, &request, &extent));
	ck_assert_ok(ext2mb_give_back(worker, extent.start + 2, 1));
	ck_assert_ok(ext2mb_mark_used(worker, extent.start + 2, 1));
	ck_assert_ok(ext2mb_query_blocks(test.mb, extent.start, extent.count, &use, &alike));
	ck_assert_ok(ext2mb_free(worker, extent.start, extent.count));
	ck_assert_ok(ext2mb_next_free(test.mb, 0, &extent));
	ck_assert_uint_gt(ext2mb_free_blocks(test.mb), 0);
}

static void call_for_files(struct ext2mb_worker *worker)
{
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12, .parent = 2 };
	struct ext2mb_file_request request = { .struct_bytes = sizeof(request), .count = 5 };
	struct ext2mb_inode_request inode = { .struct_bytes = sizeof(inode), .parent = 2 };
	struct ext2mb_extent extent;
	struct ext2mb_file *file;
	ext2_ino_t ino;
	int is_in_use;

	ck_assert_ok(ext2mb_file_open(worker, &info, &file));
	ck_assert_ok(ext2mb_file_alloc(worker, file, &request, &extent));
	ext2mb_file_truncate(worker, file, 0);
	ck_assert_ok(ext2mb_free(worker, extent.start, extent.count));
	ck_assert_ok(ext2mb_file_alloc(worker, file, &request, &extent));
	(void)ext2mb_discard_preallocations(worker);
	ck_assert_ok(ext2mb_free(worker, extent.start, extent.count));
	ext2mb_file_close(worker, file);
	ck_assert_uint_eq(ext2mb_reserved_blocks(test.mb), 0);
	ck_assert_ok(ext2mb_inode_alloc(worker, &inode, &ino));
	ck_assert_ok(ext2mb_query_inode(test.mb, ino, &is_in_use));
	ck_assert_int_eq(is_in_use, 1);
	ck_assert_ok(ext2mb_inode_free(worker, ino, 0));
	ck_assert_uint_gt(ext2mb_free_inodes(test.mb), 0);
}

/* Another allocator, of another handle: this one has one. */
static void call_for_attaching(void)
{
	ext2_filsys other = mb_image_open();

	ck_assert_error(ext2mb_detach(test.fs), EXT2MB_ET_NOT_ATTACHED);
	ck_assert_error(ext2mb_attach(test.fs, NULL), EXT2MB_ET_ATTACHED);
	ck_assert_ok(ext2mb_attach(other, NULL));
	ck_assert_ptr_nonnull(ext2mb_attached(other));
	ck_assert_ok(ext2mb_detach(other));
	ext2fs_free(other);
}

/* The filesystem was opened without one. */
static void call_for_transactions(void)
{
	struct ext2mb_transaction_info info = { .struct_bytes = sizeof(info) };
	uint64_t blocks;

	ck_assert(test.fs->io->manager != ext2mb_transaction_io_manager(0));
	ck_assert_error(ext2mb_transaction_begin(test.fs), EXT2MB_ET_NO_TRANSACTION);
	ck_assert_error(ext2mb_transaction_name_data(test.fs, 1, 1), EXT2MB_ET_NO_TRANSACTION);
	ck_assert_error(ext2mb_transaction_write_data(test.fs, 1, 1, &info), EXT2MB_ET_NO_TRANSACTION);
	ck_assert_error(ext2mb_transaction_claim_data(test.fs, 1, 1), EXT2MB_ET_NO_TRANSACTION);
	ck_assert_error(ext2mb_transaction_release_data(test.fs, 1, 1, 0), EXT2MB_ET_NO_TRANSACTION);
	ck_assert_error(ext2mb_transaction_end(test.fs), EXT2MB_ET_NO_TRANSACTION);
	ck_assert_error(ext2mb_transaction_commit(test.fs), EXT2MB_ET_NO_TRANSACTION);
	ck_assert_error(ext2mb_transaction_abort(test.fs), EXT2MB_ET_NO_TRANSACTION);
	ck_assert_error(ext2mb_transaction_read_info(test.fs, &info), EXT2MB_ET_NO_TRANSACTION);
	ck_assert_error(ext2mb_transaction_rehearse(test.fs), EXT2MB_ET_NO_TRANSACTION);
	ck_assert_error(ext2mb_transaction_count(test.fs, &blocks), EXT2MB_ET_NO_TRANSACTION);
	ck_assert_error(ext2mb_journal_replay(NULL, NULL, unix_io_manager, test.fs->io), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_journal_mark_aborted(NULL, NULL, unix_io_manager, test.fs->io), EXT2MB_ET_BAD_ARGUMENT);
}

static void call_for_figures(void)
{
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	struct ext2mb_criterion_stats criterion = { .struct_bytes = sizeof(criterion) };
	size_t lines = 0;

	ck_assert_ok(ext2mb_read_stats(test.mb, &stats));
	ck_assert_ok(ext2mb_read_criterion_stats(test.mb, 0, &criterion));
	ck_assert_ok(ext2mb_write_mb_stats(test.mb, write_nowhere, &lines));
	ck_assert_ok(ext2mb_write_mb_groups(test.mb, write_nowhere, &lines));
	ck_assert_ok(ext2mb_write_mb_structs_summary(test.mb, write_nowhere, &lines));
	ck_assert_uint_gt(lines, 50);
	ck_assert_uint_eq(ext2mb_library_version(NULL), EXT2MB_VERSION);
}

static void call_for_orphans(void)
{
	struct ext2mb_orphan_options options = { .struct_bytes = sizeof(options), .mb = test.mb };
	struct ext2mb_orphans *orphans;
	uint32_t index, first = 0;

	ck_assert_ok(ext2mb_orphan_open(test.fs, &options, NULL, 0, &orphans));
	ck_assert_ok(ext2mb_orphan_add(orphans, 0, 11, &index));
	ck_assert_uint_eq(ext2mb_orphan_next(orphans, &first), 11);
	ck_assert_ok(ext2mb_orphan_delete(orphans, index, 11));
	ck_assert_ok(ext2mb_orphan_sync(orphans));
	ck_assert_error(ext2mb_orphan_release(orphans, NULL, NULL, 0), EXT2MB_ET_IN_DISCARD);
	ext2mb_orphan_close(orphans);
}

static errcode_t do_much(void *context, uint64_t start, uint64_t count)
{
	struct ext2mb_worker *worker;
	struct ext2mb *another;
	ext2_filsys fs;
	char why[80];

	(void)start, (void)count;
	ext2mb_set_optimize_scan(test.mb, test.shown_count++ % 2 == 0);
	ck_assert_ok(ext2mb_worker_open(test.mb, &worker));
	call_for_blocks(worker);
	call_for_files(worker);
	ext2mb_worker_close(worker);
	call_for_figures();
	call_for_orphans();
	call_for_attaching();
	call_for_transactions();
	ck_assert_error(ext2mb_check(test.mb, why, sizeof(why)), EXT2MB_ET_IN_DISCARD);
	ck_assert_error(ext2mb_close(test.mb), EXT2MB_ET_IN_DISCARD);
	ck_assert_error(ext2mb_sync(test.mb), EXT2MB_ET_IN_DISCARD);
	/* That is this allocator, not another one's. */
	ck_assert_ok(ext2fs_open(mb_image_path(), EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs));
	ck_assert_ok(ext2mb_open(fs, NULL, &another));
	ck_assert_ok(ext2mb_commit(another));
	mb_check(another);
	ck_assert_ok(ext2mb_close(another));
	ck_assert_ok(ext2fs_close(fs));
	return context == &test ? ext2mb_commit(test.mb) : 0;
}

START_TEST(test_calls)
{
	const struct policy_options options = { .allocator = { .discard = do_much, .discard_context = &test },
		                                .policy = (enum policy_name)_i };
	struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 60, .flags = EXT2MB_ALLOC_WHOLE };
	struct ext2mb_extent extent;

	mb_image_make(cases[0].options, cases[0].size);
	memset(&test, 0, sizeof(test));
	test.fs = mb_image_open();
	ck_assert_ok(policy_open(test.fs, &options, &test.mb));
	ck_assert_ok(ext2mb_worker_open(test.mb, &test.worker));
	for (unsigned int round = 0; round < 3; round++) {
		ck_assert_ok(ext2mb_alloc(test.worker, &request, &extent));
		for (uint64_t offset = 0; offset < 60; offset += 20)
			ck_assert_ok(ext2mb_free(test.worker, extent.start + offset, 10));
		ck_assert_error(round ? ext2mb_commit(test.mb) : ext2mb_sync(test.mb), EXT2MB_ET_IN_DISCARD);
	}
	ck_assert_uint_ge(test.shown_count, 9);
	close_test();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("discard");
	TCase *discard = mb_image_case(suite);

	tcase_add_loop_test(discard, test_model, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_test(discard, test_error);
	tcase_add_loop_test(discard, test_calls, POLICY_EXT2MB, POLICY_BASE + 1);
	tcase_add_loop_test(discard, test_frees_meanwhile, 0, 3);
	tcase_add_test(discard, test_one_commit_at_a_time);
	tcase_add_test(discard, test_threads);
	return run_suite(suite);
}
