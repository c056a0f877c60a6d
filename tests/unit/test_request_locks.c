/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A request that is served takes no lock that all threads share. */
#include <errno.h>

#include "allocator/core/allocator.h"
#include "mb_image.h"
#include "unit.h"

/* From now on this thread holds it, and whoever takes and releases it nevertheless gives it away. */
static void hold(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attributes;

	pthread_mutex_destroy(mutex);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
	ck_assert_int_eq(pthread_mutex_lock(mutex), 0);
}

static void expect_held(pthread_mutex_t *mutex)
{
	ck_assert_int_eq(pthread_mutex_trylock(mutex), EBUSY);
}

static void append(struct ext2mb_worker *worker, struct ext2mb_file *file, uint64_t *blocks)
{
	struct ext2mb_file_request request = { .struct_bytes = sizeof(request), .logical = *blocks, .count = 2 };
	struct ext2mb_extent extent;

	ck_assert_ok(ext2mb_file_alloc(worker, file, &request, &extent));
	*blocks += extent.count;
}

START_TEST(test_served)
{
	static const uint32_t flags[] = { 0, EXT2MB_ALLOC_STREAM, EXT2MB_ALLOC_WHOLE, EXT2MB_ALLOC_PACK };
	struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 12, .parent = 2 };
	struct ext2mb_worker *worker;
	struct ext2mb_file *file;
	struct ext2mb *mb;
	uint64_t blocks = 0;

	mb_image_make("-t ext4", "256M");
	ext2_filsys fs = mb_image_open();
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_ok(ext2mb_worker_open(mb, &worker));
	ck_assert_ok(ext2mb_file_open(worker, &info, &file));
	append(worker, file, &blocks); /* the first asks how things are */

	hold(&mb->worker_lock);
	hold(&mb->commit_lock);
	for (unsigned int round = 0; round < 100; round++) {
		struct ext2mb_request request = {
			.struct_bytes = sizeof(request), .count = 5, .stream = round, .flags = flags[round % 4]
		};
		struct ext2mb_extent extent;

		ck_assert_ok(ext2mb_alloc(worker, &request, &extent));
		ck_assert_ok(ext2mb_free(worker, extent.start, extent.count));
		append(worker, file, &blocks);
	}
	expect_held(&mb->worker_lock);
	expect_held(&mb->commit_lock);

	ck_assert_int_eq(pthread_mutex_unlock(&mb->worker_lock), 0);
	ck_assert_int_eq(pthread_mutex_unlock(&mb->commit_lock), 0);
	ext2mb_file_close(worker, file);
	mb_check(mb);
	ext2mb_worker_close(worker);
	ext2mb_close(mb);
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("request_locks");

	tcase_add_test(mb_image_case(suite), test_served);
	return run_suite(suite);
}
