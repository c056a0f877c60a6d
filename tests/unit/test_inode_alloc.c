/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The search for the last inode, and what it does when another thread comes between: here it does so on cue. */
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "mb_image.h"
#include "unit.h"

static void meanwhile(uint32_t group, bool waits);
#define INODE_SEARCH_MEANWHILE(group, waits) meanwhile(group, waits)
#include "../../lib/allocator/inode/inode_alloc.c"

#define GROUPS 40
#define LAST_GROUP 30
#define LEFT_GROUP 3

static struct {
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	struct ext2mb_worker *other;
	ext2_filsys fs;
	void (*act)(void);
	bool acts_when_waiting;
} test;

static void meanwhile(uint32_t group, bool waits)
{
	void (*act)(void) = test.act;

	if (!act || group != LAST_GROUP || waits != test.acts_when_waiting)
		return;
	test.act = NULL;
	act();
}

static ext2_ino_t inode_in(uint32_t group)
{
	return group * test.mb->geometry.inodes_per_group + 5;
}

/* A filesystem of 40 groups without flex_bg in which every inode is in use but one. */
static void open_full(uint32_t choices_dropped)
{
	const struct policy_options options = { .choices_dropped = choices_dropped };
	struct ext2mb_inode_request request = { .struct_bytes = sizeof(request), .flags = EXT2MB_INODE_PACK };
	ext2_ino_t ino;

	mb_image_make("-t ext4 -b 4096 -g 2048 -N 6400 -O ^flex_bg,^resize_inode,^has_journal", "320M");
	test.fs = mb_image_open();
	ck_assert_ok(policy_open(test.fs, &options, &test.mb));
	ck_assert_uint_eq(test.mb->geometry.groups, GROUPS);
	ck_assert_ok(ext2mb_worker_open(test.mb, &test.worker));
	ck_assert_ok(ext2mb_worker_open(test.mb, &test.other));
	while (!ext2mb_inode_alloc(test.worker, &request, &ino))
		;
	ck_assert_ok(ext2mb_inode_free(test.worker, inode_in(LAST_GROUP), 0));
}

static void close_full(void)
{
	mb_check(test.mb);
	ck_assert_uint_eq(ext2mb_free_inodes(test.mb), 0);
	ext2mb_worker_close(test.other);
	ext2mb_worker_close(test.worker);
	ext2mb_close(test.mb);
	ck_assert_ok(ext2fs_close(test.fs));
}

static ext2_ino_t take_last(ext2_ino_t parent)
{
	struct ext2mb_inode_request request = { .struct_bytes = sizeof(request), .parent = parent };
	ext2_ino_t ino;

	ck_assert_ok(ext2mb_inode_alloc(test.worker, &request, &ino));
	ck_assert_ptr_null(test.act); /* it was done */
	return ino;
}

/* One behind the search becomes free, and the only one before it goes. */
static void free_behind_and_take_ahead(void)
{
	struct ext2mb_inode_request request = { .struct_bytes = sizeof(request),
		                                .goal = inode_in(LAST_GROUP),
		                                .flags = EXT2MB_INODE_PACK };
	ext2_ino_t ino;

	ck_assert_ok(ext2mb_inode_free(test.other, inode_in(LEFT_GROUP), 0));
	ck_assert_ok(ext2mb_inode_alloc(test.other, &request, &ino));
	ck_assert_uint_eq(ino, inode_in(LAST_GROUP));
}

START_TEST(test_moved_behind)
{
	open_full(CHOICE_DIRECTORY_SHARES);
	test.acts_when_waiting = true;
	test.act = free_behind_and_take_ahead;
	ck_assert_uint_eq(take_last(1), inode_in(LEFT_GROUP));
	close_full();
}
END_TEST

static pthread_barrier_t has_lock;
static pthread_t holder;

static void *hold_last_group(void *argument)
{
	struct lock *lock = &test.mb->groups[LAST_GROUP].inodes.lock;

	lock_wait(lock);
	pthread_barrier_wait(&has_lock);
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	lock_release(lock);
	return argument;
}

static void begin_to_hold(void)
{
	ck_assert_int_eq(pthread_create(&holder, NULL, hold_last_group, NULL), 0);
	pthread_barrier_wait(&has_lock);
}

/* A group that is only busy is not full. */
START_TEST(test_busy)
{
	static const struct {
		uint32_t choices_dropped;
		uint32_t parent_group;
		bool waits;
	} cases[] = {
		/* In the parent's group it is tried for first, and waited for in vain of the rest. */
		{ CHOICE_DIRECTORY_SHARES, LAST_GROUP, false },
		/* Far from it, or in the parent's group with shares, it is waited for. */
		{ CHOICE_DIRECTORY_SHARES, 0, true },
		{ 0, LAST_GROUP, true },
		/* Where the parent's place is displaced to, it is tried for, and waited for in vain of the rest. */
		{ 0, 0, false },
	};

	open_full(cases[_i].choices_dropped);
	pthread_barrier_init(&has_lock, NULL, 2);
	test.acts_when_waiting = cases[_i].waits;
	test.act = begin_to_hold;
	ck_assert_uint_eq(take_last(inode_in(cases[_i].parent_group)), inode_in(LAST_GROUP));
	pthread_join(holder, NULL);
	pthread_barrier_destroy(&has_lock);
	close_full();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inode_alloc");
	TCase *tests = tcase_create("inode_alloc");

	tcase_set_timeout(tests, 60);
	tcase_add_unchecked_fixture(tests, mb_image_setup, mb_image_teardown);
	tcase_add_test(tests, test_moved_behind);
	tcase_add_loop_test(tests, test_busy, 0, 4);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
