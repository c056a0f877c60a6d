/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a program does wrong with handles of the library is an error, not a crash and not a success. */
#include <pthread.h>
#include <string.h>

#include "attach_judge.h"
#include "allocator/core/allocator.h"
#include "unit.h"

#define OPTIONS "-t ext4 -b 1024 -O ^orphan_file,^has_journal -N 128"

static const struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 1 };
static const struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12 };
static const struct ext2mb_file_request file_request = { .struct_bytes = sizeof(file_request), .count = 1 };
static const struct ext2mb_inode_request inode_request = { .struct_bytes = sizeof(inode_request), .parent = 2 };

/* Each call refuses the worker; none does anything. */
static void expect_refusals(struct ext2mb_worker *worker, struct ext2mb_file *file, errcode_t expected)
{
	struct ext2mb_extent extent;
	struct ext2mb_file *new_file;
	ext2_ino_t ino;

	ck_assert_error(ext2mb_alloc(worker, &request, &extent), expected);
	ck_assert_error(ext2mb_free(worker, 1, 1), expected);
	ck_assert_error(ext2mb_give_back(worker, 1, 1), expected);
	ck_assert_error(ext2mb_mark_used(worker, 1, 1), expected);
	ck_assert_error(ext2mb_file_open(worker, &info, &new_file), expected);
	ck_assert_error(ext2mb_file_alloc(worker, file, &file_request, &extent), expected);
	ck_assert_error(ext2mb_inode_alloc(worker, &inode_request, &ino), expected);
	ck_assert_error(ext2mb_inode_free(worker, 12, 0), expected);
	ck_assert_uint_eq(ext2mb_discard_preallocations(worker), 0);
	ext2mb_file_truncate(worker, file, 0);
	ext2mb_file_close(worker, file);
	ext2mb_worker_close(worker);
}

START_TEST(test_closed_worker)
{
	struct small_image image;
	struct ext2mb_extent extent;
	struct ext2mb_file *file;

	mb_image_make(OPTIONS, "16M");
	small_image_open(&image, NULL);
	struct ext2mb_worker *closed = image.worker;

	ck_assert_ok(ext2mb_file_open(image.worker, &info, &file));
	ext2mb_worker_close(closed);
	expect_refusals(closed, file, EXT2MB_ET_BAD_ARGUMENT);
	mb_check(image.mb);
	/* The file is still there, for another worker. */
	ck_assert_ok(ext2mb_worker_open(image.mb, &image.worker));
	ck_assert_ok(ext2mb_file_alloc(image.worker, file, &file_request, &extent));
	ext2mb_file_close(image.worker, file);
	ext2mb_worker_close(image.worker);
	ck_assert_ok(ext2mb_close(image.mb));
	ext2fs_free(image.fs);
}
END_TEST

START_TEST(test_close_in_use)
{
	struct small_image image;
	struct ext2mb_file *file;
	struct ext2mb *other;

	mb_image_make(OPTIONS, "16M");
	small_image_open(&image, NULL);
	ck_assert_error(ext2mb_close(image.mb), EXT2MB_ET_IN_USE);
	ck_assert_ok(ext2mb_file_open(image.worker, &info, &file));
	ext2mb_worker_close(image.worker);
	ck_assert_error(ext2mb_close(image.mb), EXT2MB_ET_IN_USE);
	/* It is as it was. */
	ck_assert_error(ext2mb_open(image.fs, NULL, &other), EXT2MB_ET_ATTACHED);
	ck_assert_ok(ext2mb_worker_open(image.mb, &image.worker));
	ext2mb_file_close(image.worker, file);
	ck_assert_error(ext2mb_close(image.mb), EXT2MB_ET_IN_USE);
	ext2mb_worker_close(image.worker);
	mb_check(image.mb);
	ck_assert_ok(ext2mb_close(image.mb));
	ck_assert_ok(ext2mb_open(image.fs, NULL, &other));
	ck_assert_ok(ext2mb_close(other));
	ext2fs_free(image.fs);
}
END_TEST

START_TEST(test_detach_in_use)
{
	ext2_filsys fs = attach_open_image(OPTIONS, "16M");
	struct ext2mb_worker *worker;
	struct ext2mb_file *file;
	ext2_ino_t ino;

	ck_assert_ok(ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, "directory"));
	ck_assert_ok(ext2mb_worker_open(ext2mb_attached(fs), &worker));
	ck_assert_error(ext2mb_detach(fs), EXT2MB_ET_IN_USE);
	ck_assert_ok(ext2mb_file_open(worker, &info, &file));
	ck_assert_error(ext2mb_detach(fs), EXT2MB_ET_IN_USE);
	ck_assert_ptr_nonnull(ext2mb_attached(fs));
	ck_assert_ok(ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, "again"));
	ext2mb_file_close(worker, file);
	ext2mb_worker_close(worker);
	ck_assert_ok(ext2mb_detach(fs));
	ck_assert_ok(ext2fs_namei(fs, EXT2_ROOT_INO, EXT2_ROOT_INO, "again", &ino));
	ck_assert_ok(ext2fs_close(fs));
	mb_image_check();
}
END_TEST

/* A file belongs to the allocator whose worker has opened it. */
START_TEST(test_foreign_worker)
{
	struct small_image one, two;
	struct ext2mb_extent extent;
	struct ext2mb_file *file;

	mb_image_make(OPTIONS, "16M");
	small_image_open(&one, NULL);
	small_image_open(&two, NULL);
	ck_assert_ok(ext2mb_file_open(one.worker, &info, &file));
	ck_assert_error(ext2mb_file_alloc(two.worker, file, &file_request, &extent), EXT2MB_ET_BAD_ARGUMENT);
	ext2mb_file_truncate(two.worker, file, 0);
	ext2mb_file_close(two.worker, file);
	ext2mb_worker_close(two.worker);
	ck_assert_ok(ext2mb_close(two.mb));
	ck_assert_ok(ext2mb_file_alloc(one.worker, file, &file_request, &extent));
	ext2mb_file_close(one.worker, file);
	ext2mb_worker_close(one.worker);
	mb_check(one.mb);
	ck_assert_ok(ext2mb_close(one.mb));
	ext2fs_free(one.fs);
	ext2fs_free(two.fs);
}
END_TEST

static errcode_t forget_text(void *context, const char *text, size_t bytes)
{
	(void)context, (void)text, (void)bytes;
	return 0;
}

static void expect_null_allocator(void)
{
	struct ext2mb_criterion_stats criterion = { .struct_bytes = sizeof(criterion) };
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	struct ext2mb_worker *worker;
	struct ext2mb_extent extent;
	enum ext2mb_block_use use;
	uint64_t alike;
	char why[8];

	ck_assert_error(ext2mb_worker_open(NULL, &worker), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_commit(NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_sync(NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_check(NULL, why, sizeof(why)), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_query_blocks(NULL, 1, 1, &use, &alike), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_next_free(NULL, 1, &extent), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_read_stats(NULL, &stats), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_read_criterion_stats(NULL, 0, &criterion), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_write_mb_stats(NULL, forget_text, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_write_mb_groups(NULL, forget_text, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_write_mb_structs_summary(NULL, forget_text, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_uint_eq(ext2mb_free_blocks(NULL) + ext2mb_free_inodes(NULL) + ext2mb_reserved_blocks(NULL), 0);
	ext2mb_set_optimize_scan(NULL, 1);
	ck_assert_ok(ext2mb_close(NULL));
}

static void expect_null_filesystem(void)
{
	struct ext2mb_transaction_info transaction = { .struct_bytes = sizeof(transaction) };
	struct ext2mb_orphans *orphans;
	struct ext2mb *mb;
	uint64_t blocks = 0;
	uint32_t index = 0;

	ck_assert_error(ext2mb_open(NULL, NULL, &mb), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_attach(NULL, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_detach(NULL), EXT2MB_ET_NOT_ATTACHED);
	ck_assert_ptr_null(ext2mb_attached(NULL));
	ck_assert_error(ext2mb_transaction_begin(NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_transaction_end(NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_transaction_commit(NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_transaction_abort(NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_transaction_name_data(NULL, 1, 1), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_transaction_read_info(NULL, &transaction), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_transaction_rehearse(NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_transaction_count(NULL, &blocks), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_journal_replay("x", NULL, unix_io_manager, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_journal_mark_aborted("x", NULL, NULL, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_orphan_open(NULL, NULL, NULL, 0, &orphans), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_orphan_add(NULL, 0, 12, &index), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_orphan_delete(NULL, 0, 12), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_orphan_sync(NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_orphan_release(NULL, NULL, NULL, 0), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_uint_eq(ext2mb_orphan_next(NULL, &index), 0);
	ext2mb_orphan_close(NULL);
}

static void expect_null_results(const struct small_image *image)
{
	struct ext2mb_orphans *orphans;
	struct ext2mb_extent extent;
	struct ext2mb_file *file;
	enum ext2mb_block_use use;
	ext2_ino_t ino;

	ck_assert_ok(ext2mb_file_open(image->worker, &info, &file));
	ck_assert_error(ext2mb_alloc(image->worker, NULL, &extent), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_alloc(image->worker, &request, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_file_open(image->worker, NULL, &file), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_file_open(image->worker, &info, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_file_alloc(image->worker, NULL, &file_request, &extent), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_file_alloc(image->worker, file, NULL, &extent), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_file_alloc(image->worker, file, &file_request, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_inode_alloc(image->worker, NULL, &ino), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_inode_alloc(image->worker, &inode_request, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_worker_open(image->mb, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_open(image->fs, NULL, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_next_free(image->mb, 1, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_query_blocks(image->mb, 1, 1, &use, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_read_stats(image->mb, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_read_criterion_stats(image->mb, 0, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_write_mb_stats(image->mb, NULL, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_write_mb_groups(image->mb, NULL, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_write_mb_structs_summary(image->mb, NULL, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_orphan_open(image->fs, NULL, NULL, 0, NULL), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_orphan_open(image->fs, NULL, NULL, 8, &orphans), EXT2MB_ET_BAD_ARGUMENT);
	ext2mb_file_truncate(image->worker, NULL, 0);
	ext2mb_file_close(image->worker, NULL);
	ext2mb_file_close(image->worker, file);
}

START_TEST(test_null)
{
	struct small_image image;

	initialize_e2mb_error_table();
	expect_refusals(NULL, NULL, EXT2MB_ET_BAD_ARGUMENT);
	expect_null_allocator();
	expect_null_filesystem();
	mb_image_make(OPTIONS, "16M");
	small_image_open(&image, NULL);
	expect_null_results(&image);
	ext2mb_worker_close(image.worker);
	mb_check(image.mb);
	ck_assert_ok(ext2mb_close(image.mb));
	ext2fs_free(image.fs);
}
END_TEST

#ifdef EXT2MB_DEBUG
static _Atomic unsigned int refused;

static void *use_worker(void *argument)
{
	struct ext2mb_worker *worker = argument;
	struct ext2mb_extent extent;

	for (unsigned int round = 0; round < 1000000 && !refused; round++) {
		errcode_t error = ext2mb_alloc(worker, &request, &extent);

		if (!error)
			error = ext2mb_give_back(worker, extent.start, extent.count);
		refused += error == EXT2MB_ET_WORKER_BUSY;
	}
	return NULL;
}

START_TEST(test_two_threads)
{
	struct small_image image;
	struct ext2mb_file *file;
	pthread_t threads[2];

	mb_image_make(OPTIONS, "16M");
	small_image_open(&image, NULL);
	ck_assert_ok(ext2mb_file_open(image.worker, &info, &file));
	/* As in the middle of a call of another thread. */
	atomic_store(&image.worker->is_in_use, true);
	expect_refusals(image.worker, file, EXT2MB_ET_WORKER_BUSY);
	atomic_store(&image.worker->is_in_use, false);
	for (unsigned int index = 0; index < 2; index++)
		ck_assert_int_eq(pthread_create(&threads[index], NULL, use_worker, image.worker), 0);
	for (unsigned int index = 0; index < 2; index++)
		pthread_join(threads[index], NULL);
	ck_assert_uint_gt(refused, 0);
	ext2mb_file_close(image.worker, file);
	ext2mb_worker_close(image.worker);
	mb_check(image.mb);
	ck_assert_ok(ext2mb_close(image.mb));
	ext2fs_free(image.fs);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("misuse");
	TCase *tests = mb_image_case(suite);

	tcase_add_test(tests, test_closed_worker);
	tcase_add_test(tests, test_close_in_use);
	tcase_add_test(tests, test_detach_in_use);
	tcase_add_test(tests, test_foreign_worker);
	tcase_add_test(tests, test_null);
#ifdef EXT2MB_DEBUG
	tcase_add_test(tests, test_two_threads);
#endif
	return run_suite(suite);
}
