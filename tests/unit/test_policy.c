/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every policy and every single choice, switched off in the series and in ours and on in the base: the same fight on
 * one small filesystem, threads against each other, while mb_optimize_scan goes on and off. And what each choice
 * changes, seen in the counters.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "allocator/core/allocator.h"
#include "compare/kernel_policy.h"
#include "allocator/group/group_index.h"
#include "allocator/search/stream_goals.h"
#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

/* Does on cue what another thread might do when a group is about to be looked into. */
static void (*on_look)(uint32_t number);
#define SEARCH_MEANWHILE(search, number, waits) (on_look ? on_look(number) : (void)0)
#include "../../lib/allocator/search/group_search.c"

#define THREADS 4
#define MOST_OWNED 400
#define OPTIONS "-t ext4 -b 4096 -g 1024 -N 512 -O ^resize_inode"
#define SIZE "69M"

static _Atomic uint8_t owners[1 << 15];

struct fighter {
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	pthread_t thread;
	struct random random;
	uint64_t operations;
	uint64_t blocks;
	struct ext2mb_extent owned[MOST_OWNED];
	size_t owned_count;
};

/* The n-th of all: three whole policies, then base with, series without and ours without each choice. */
static struct policy_options options_of(int number, char *name, size_t name_bytes)
{
	static const char *const names[] = { "ext2mb", "series", "base" };
	struct policy_options options = { .policy = (enum policy_name)(number % 3) };
	const struct choice *choice = number < 3 ? NULL : &all_choices[number / 3 - 1];

	if (choice && options.policy == POLICY_BASE)
		options.choices_added = choice->choice;
	else if (choice)
		options.choices_dropped = choice->choice;
	snprintf(name, name_bytes, "%s%s%s", names[number % 3],
	         !choice               ? "" :
	         options.choices_added ? " with " :
	                                 " without ",
	         choice ? choice->name : "");
	return options;
}

static void allocate(struct fighter *fighter)
{
	struct random *random = &fighter->random;
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request),
		.count = 1 + random_below(random, UINT64_C(1) << random_below(random, 8)),
		.stream = random_below(random, 40),
		.flags = random_below(random, 2) ? EXT2MB_ALLOC_STREAM : 0,
	};
	struct ext2mb_extent extent;

	if (fighter->owned_count == MOST_OWNED)
		return;
	if (random_below(random, 2))
		request.goal = random_below(random, fighter->blocks);
	errcode_t error = ext2mb_alloc(fighter->worker, &request, &extent);
	if (error == EXT2MB_ET_NO_SPACE)
		return;
	ck_assert_ok(error);
	for (uint64_t block = extent.start; block < extent.start + extent.count; block++)
		if (atomic_exchange(&owners[block], 1))
			ck_abort_msg("block %llu was handed out twice", (unsigned long long)block);
	fighter->owned[fighter->owned_count++] = extent;
}

static void release(struct fighter *fighter)
{
	if (!fighter->owned_count)
		return;
	struct ext2mb_extent *extent = &fighter->owned[random_below(&fighter->random, fighter->owned_count)];
	uint64_t count = 1 + random_below(&fighter->random, extent->count);
	uint64_t start = random_below(&fighter->random, 2) ? extent->start : extent->start + extent->count - count;

	for (uint64_t block = start; block < start + count; block++)
		atomic_store(&owners[block], 0);
	ck_assert_ok(ext2mb_free(fighter->worker, start, count));
	if (start == extent->start)
		extent->start += count;
	extent->count -= count;
	if (!extent->count)
		*extent = fighter->owned[--fighter->owned_count];
}

static void *fight(void *argument)
{
	struct fighter *fighter = argument;

	for (uint64_t operation = 0; operation < fighter->operations; operation++) {
		uint64_t kind = random_below(&fighter->random, 64);

		if (kind < 36)
			allocate(fighter);
		else if (kind < 62)
			release(fighter);
		else if (kind < 63)
			ck_assert_ok(ext2mb_commit(fighter->mb));
		else
			ext2mb_set_optimize_scan(fighter->mb, operation % 2);
	}
	return NULL;
}

static void compare_with_disk(void)
{
	uint64_t count;
	uint8_t *used = mb_image_read_clusters(&count);

	for (uint64_t block = 0; block < count; block++)
		if (used[block] != owners[block])
			ck_abort_msg("block %llu differs on disk", (unsigned long long)block);
	free(used);
}

static void start_over(void)
{
	uint64_t count;

	mb_image_make(OPTIONS, SIZE);
	uint8_t *used = mb_image_read_clusters(&count);
	ck_assert_uint_le(count, sizeof(owners));
	for (uint64_t block = 0; block < count; block++)
		owners[block] = used[block];
	free(used);
}

START_TEST(test_fight)
{
	static struct fighter fighters[THREADS];
	char name[80];
	const struct policy_options options = options_of(_i, name, sizeof(name));
	struct random random = random_start(name);
	struct ext2mb *mb;

	start_over();
	ext2_filsys fs = mb_image_open();
	ck_assert_ok(policy_open(fs, &options, &mb));
	for (unsigned int number = 0; number < THREADS; number++) {
		fighters[number] = (struct fighter){
			.mb = mb,
			.random.state = random_next(&random),
			.operations = mb_operations(12000) / THREADS,
			.blocks = ext2fs_blocks_count(fs->super),
		};
		ck_assert_ok(ext2mb_worker_open(mb, &fighters[number].worker));
	}
	for (unsigned int number = 0; number < THREADS; number++)
		ck_assert_int_eq(pthread_create(&fighters[number].thread, NULL, fight, &fighters[number]), 0);
	for (unsigned int number = 0; number < THREADS; number++)
		pthread_join(fighters[number].thread, NULL);
	mb_check(mb);
	ck_assert_ok(ext2mb_sync(mb));
	mb_check(mb);
	ck_assert_ok(ext2fs_flush(fs));
	compare_with_disk();
	for (unsigned int number = 0; number < THREADS; number++) {
		while (fighters[number].owned_count)
			release(&fighters[number]);
		ext2mb_worker_close(fighters[number].worker);
	}
	ck_assert_ok(ext2mb_sync(mb));
	mb_check(mb);
	ext2mb_close(mb);
	ck_assert_ok(ext2fs_close(fs));
	compare_with_disk();
	mb_image_check();
}
END_TEST

/* The following tests compare the series with and without one choice, or the base with it. */
static struct {
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	ext2_filsys fs;
} test;

#define GROUP_BLOCKS 2048
#define GROUPS 40

static void open_with(enum policy_name policy, uint32_t added, uint32_t dropped)
{
	const struct policy_options options = {
		.policy = policy,
		.choices_added = added,
		.choices_dropped = dropped,
	};

	mb_image_make("-t ext4 -b 4096 -g 2048 -O ^flex_bg,^resize_inode,^has_journal", "320M");
	test.fs = mb_image_open();
	ck_assert_ok(policy_open(test.fs, &options, &test.mb));
	ck_assert_uint_eq(test.mb->geometry.groups, GROUPS);
	ck_assert_ok(ext2mb_worker_open(test.mb, &test.worker));
}

static void close_all(void)
{
	mb_check(test.mb);
	ext2mb_worker_close(test.worker);
	ext2mb_close(test.mb);
	ck_assert_ok(ext2fs_close(test.fs));
}

static struct ext2mb_stats stats_now(void)
{
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };

	ck_assert_ok(ext2mb_read_stats(test.mb, &stats));
	return stats;
}

static uint64_t take_blocks(uint64_t goal, uint64_t count, uint64_t stream, uint32_t flags)
{
	struct ext2mb_request request = {
		.struct_bytes = sizeof(request), .goal = goal, .count = count, .stream = stream, .flags = flags
	};
	struct ext2mb_extent extent;

	ck_assert_ok(ext2mb_alloc(test.worker, &request, &extent));
	ck_assert_uint_eq(extent.count, count);
	return extent.start;
}

static void take_everything(void)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                          .count = GROUP_BLOCKS,
		                          .flags = EXT2MB_ALLOC_PACK };
	struct ext2mb_extent extent;

	while (!ext2mb_alloc(test.worker, &request, &extent))
		;
}

static void make_free(uint32_t group, uint32_t cluster, uint32_t count)
{
	ck_assert_ok(ext2mb_free(test.worker, (uint64_t)group * GROUP_BLOCKS + cluster, count));
	ck_assert_ok(ext2mb_commit(test.mb));
}

static void *release_later(void *argument)
{
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	lock_release(argument);
	return NULL;
}

/* 1: a group that is held is passed over. Without, it is waited for. */
START_TEST(test_busy)
{
	for (int tries = 0; tries <= 1; tries++) {
		pthread_t thread;

		open_with(POLICY_SERIES, 0, tries ? 0 : CHOICE_TRY_LOCK);
		lock_wait(&test.mb->groups[0].lock);
		ck_assert_int_eq(pthread_create(&thread, NULL, release_later, &test.mb->groups[0].lock), 0);
		uint64_t start = take_blocks(0, 3, 0, EXT2MB_ALLOC_STREAM);
		pthread_join(thread, NULL);
		ck_assert_uint_eq(start / GROUP_BLOCKS, (uint64_t)tries);
		ck_assert_uint_eq(stats_now().busy_skips, (uint64_t)tries);
		close_all();
	}
}
END_TEST

/* Another thread has it for as long as one look takes. */
static void hold_at_first(uint32_t number)
{
	struct lock *lock = &test.mb->groups[20].lock;

	if (lock_looks_held(lock))
		lock_release(lock);
	else if (!stats_now().busy_skips && (number != 20 || !lock_try(lock)))
		ck_abort_msg("group %u is looked into", number);
}

/* 16: the only group that fits becomes busy after it was chosen; that was in vain, or it is just passed over. */
START_TEST(test_bounce)
{
	for (int dropped = 0; dropped <= 1; dropped++) {
		open_with(POLICY_SERIES, 0, dropped ? CHOICE_SCAN_IN_PLACE : 0);
		take_everything();
		make_free(20, 1024, 16);
		struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 16 };
		struct ext2mb_extent extent;
		on_look = hold_at_first;
		errcode_t error = ext2mb_alloc(test.worker, &request, &extent);
		on_look = NULL;
		ck_assert_ok(error);
		ck_assert_uint_eq(extent.start / GROUP_BLOCKS, 20);
		ck_assert_uint_eq(policy_read_stats(test.mb).bounces, (uint64_t)dropped);
		ck_assert_uint_ge(stats_now().busy_skips, 1);
		close_all();
	}
}
END_TEST

/* 2 and 3: how hits of a stream's goal are counted. */
START_TEST(test_stream_hits)
{
	static const struct {
		uint32_t dropped;
		uint64_t goal_hits, stream_goal_hits;
	} cases[] = {
		{ 0, 0, 4 },
		{ CHOICE_STREAM_HITS_APART, 4, 0 },
		{ CHOICE_STREAM_GROUP, 0, 0 },
	};

	for (unsigned int index = 0; index < 3; index++) {
		open_with(POLICY_SERIES, 0, cases[index].dropped);
		for (int count = 0; count < 4; count++)
			take_blocks(0, 3, 5, EXT2MB_ALLOC_STREAM);
		ck_assert_uint_eq(stats_now().goal_hits, cases[index].goal_hits);
		ck_assert_uint_eq(stats_now().stream_goal_hits, cases[index].stream_goal_hits);
		close_all();
	}
}
END_TEST

/* 4: the shared lock is taken to read and to store a stream's goal. */
START_TEST(test_stream_lock)
{
	for (int dropped = 0; dropped <= 1; dropped++) {
		open_with(POLICY_SERIES, 0, dropped ? CHOICE_STREAM_HINT : 0);
		take_blocks(0, 3, 5, EXT2MB_ALLOC_STREAM);
		take_blocks(0, 3, 6, EXT2MB_ALLOC_STREAM);
		ck_assert_uint_eq(policy_read_stats(test.mb).global_locks, dropped ? 4 : 0);
		close_all();
	}
}
END_TEST

/* 5: with one goal, streams follow one another; with several, each stays where it was sent. */
START_TEST(test_several_goals)
{
	for (int dropped = 0; dropped <= 1; dropped++) {
		open_with(POLICY_EXT2MB, 0, dropped ? CHOICE_SEVERAL_GOALS : 0);
		ck_assert_uint_eq(test.mb->goals->count, dropped ? 1 : 10);
		uint64_t first = take_blocks(0, 3, 5, EXT2MB_ALLOC_STREAM) / GROUP_BLOCKS;
		uint64_t second = take_blocks(0, 3, 6, EXT2MB_ALLOC_STREAM) / GROUP_BLOCKS;
		ck_assert_int_eq(first == second, dropped);
		close_all();
	}
}
END_TEST

/* 8 and 9: three frees that become one run, the last one between the others. */
START_TEST(test_frees)
{
	static const struct {
		uint32_t dropped;
		uint64_t locks;
	} cases[] = {
		/* A commit takes it once. Merged first: two are listed, one comes off again. */
		{ 0, 2 + 1 + 1 },
		/* Three are listed, and two come off. */
		{ CHOICE_MERGE_FIRST, 3 + 2 + 1 },
		/* And three are counted as waiting, and one as released. */
		{ CHOICE_PENDING_ATOMIC, 2 + 1 + 1 + 3 + 1 },
		{ CHOICE_MERGE_FIRST | CHOICE_PENDING_ATOMIC, 3 + 2 + 1 + 3 + 1 },
	};

	for (unsigned int index = 0; index < 4; index++) {
		open_with(POLICY_SERIES, 0, cases[index].dropped);
		uint64_t start = take_blocks(0, 30, 0, 0);
		ck_assert_ok(ext2mb_free(test.worker, start, 10));
		ck_assert_ok(ext2mb_free(test.worker, start + 20, 10));
		ck_assert_ok(ext2mb_free(test.worker, start + 10, 10));
		ck_assert_error(ext2mb_free(test.worker, start + 15, 10), EXT2MB_ET_DOUBLE_FREE);
		ck_assert_uint_eq(kernel_policy_of(test.mb)->pending_clusters, 30);
		mb_check(test.mb);
		ck_assert_ok(ext2mb_commit(test.mb));
		ck_assert_uint_eq(kernel_policy_of(test.mb)->pending_clusters, 0);
		ck_assert_uint_eq(policy_read_stats(test.mb).global_locks, cases[index].locks);
		close_all();
	}
	open_with(POLICY_EXT2MB, 0, 0);
	make_free(3, (uint32_t)(take_blocks(3 * GROUP_BLOCKS + 1000, 30, 0, 0) % GROUP_BLOCKS), 30);
	ck_assert_uint_eq(policy_read_stats(test.mb).global_locks, 0);
	close_all();
}
END_TEST

/* 10: a full group is met again and again, or never. */
START_TEST(test_zombies)
{
	for (int dropped = 0; dropped <= 1; dropped++) {
		open_with(POLICY_SERIES, 0, dropped ? CHOICE_FULL_UNLISTED : 0);
		take_everything();
		make_free(39, 600, 1200);
		uint64_t before = mb_criterion_stats(test.mb, 1).groups;
		take_blocks(0, 3, 0, EXT2MB_ALLOC_STREAM);
		uint64_t met = mb_criterion_stats(test.mb, 1).groups - before;
		if (dropped)
			ck_assert_uint_ge(met, GROUPS / 2);
		else
			ck_assert_uint_eq(met, 1);
		close_all();
	}
}
END_TEST

/* 11: the index is off while a group changes. Before, the group is then in a set where it does not belong. */
START_TEST(test_switch)
{
	for (int policy = 0; policy < 4; policy++) {
		uint32_t lists = policy & 1 ? CHOICE_ORDERED_SETS : 0;
		bool always = policy & 2;

		open_with(POLICY_SERIES, 0, lists | (always ? 0 : CHOICE_ALWAYS_LEAVE));
		take_everything();
		make_free(20, 1024, 64);
		ck_assert(test.mb->policy.index->has(test.mb, INDEX_LARGEST, 6, 20));
		ck_assert_uint_eq(kernel_index_next_order(test.mb, INDEX_LARGEST, 0), 6);
		ck_assert_uint_eq(kernel_index_next_order(test.mb, INDEX_LARGEST, 7), test.mb->orders);
		ext2mb_set_optimize_scan(test.mb, 0);
		take_blocks(0, 32, 0, 0);
		take_blocks(0, 16, 0, 0);
		ext2mb_set_optimize_scan(test.mb, 1);
		ck_assert_int_eq(test.mb->policy.index->has(test.mb, INDEX_LARGEST, 4, 20), always);
		ck_assert_int_eq(test.mb->policy.index->has(test.mb, INDEX_LARGEST, 6, 20), !always);
		take_blocks(0, 8, 0, 0);
		ck_assert(test.mb->policy.index->has(test.mb, INDEX_LARGEST, 3, 20));
		ck_assert_int_eq(test.mb->policy.index->has(test.mb, INDEX_LARGEST, 6, 20), !always && !lists);
		if (lists)
			ck_assert_int_eq(kernel_policy_of(test.mb)->lists[INDEX_LARGEST]->misplaced > 0, !always);
		/* Wrongly listed is not lost: what is free can be had. */
		take_blocks(0, 8, 0, 0);
		close_all();
	}
}
END_TEST

/*
 * 15 and 17: groups 30 and 10 have order 4, 35 and 5 order 5, listed in that order; the search for 16 starts at 20.
 * 15: a list is gone through as it was filled. 17: order by order, or all orders above the start first.
 */
START_TEST(test_order)
{
	static const struct {
		uint32_t dropped;
		uint64_t groups[4];
	} cases[] = {
		{ 0, { 30, 35, 10, 5 } },
		{ CHOICE_ONE_DIRECTION, { 30, 10, 35, 5 } },
		{ CHOICE_ONE_DIRECTION | CHOICE_ORDERED_SETS, { 10, 30, 5, 35 } },
		{ CHOICE_SCAN_IN_PLACE, { 30, 35, 10, 5 } },
		{ CHOICE_ONE_DIRECTION | CHOICE_ORDERED_SETS | CHOICE_SCAN_IN_PLACE, { 10, 30, 5, 35 } },
	};

	for (unsigned int index = 0; index < 5; index++) {
		open_with(POLICY_SERIES, 0, cases[index].dropped);
		take_everything();
		make_free(10, 1024, 16);
		make_free(30, 1024, 16);
		make_free(5, 1024, 32);
		make_free(35, 1024, 32);
		for (unsigned int number = 0; number < 4; number++) {
			uint64_t group = take_blocks(20 * GROUP_BLOCKS + 7, 16, 0, 0) / GROUP_BLOCKS;

			ck_assert_msg(group == cases[index].groups[number], "case %u: %llu at %u", index,
			              (unsigned long long)group, number);
			/* The rest of an order 5 would now be an order 4. */
			if (cases[index].groups[number] == 35 || cases[index].groups[number] == 5)
				take_blocks(group * GROUP_BLOCKS + 1040, 16, 0, EXT2MB_ALLOC_GOAL_ONLY);
		}
		close_all();
	}
}
END_TEST

/* Goal first: the start group is tried though another one fits better. */
START_TEST(test_goal_first)
{
	for (int number = 0; number < 4; number++) {
		bool added = number % 2;

		if (number < 2)
			open_with(POLICY_SERIES, added ? CHOICE_GOAL_FIRST : 0, 0);
		else
			open_with(POLICY_BASE, 0, added ? 0 : CHOICE_GOAL_FIRST);
		take_everything();
		make_free(20, 1024, 256);
		make_free(30, 1024, 16);
		ck_assert_uint_eq(take_blocks(20 * GROUP_BLOCKS + 7, 16, 0, 0) / GROUP_BLOCKS, added ? 20 : 30);
		close_all();
	}
}
END_TEST

/* Wait at equal: the only group with 16 in one piece is held for a moment. */
static void *hold(void *argument)
{
	struct lock *lock = argument;

	while (!stats_now().busy_skips)
		sched_yield();
	lock_release(lock);
	return NULL;
}

START_TEST(test_wait_at_equal)
{
	for (int added = 0; added <= 1; added++) {
		pthread_t thread;

		open_with(POLICY_SERIES, added ? CHOICE_WAIT_AT_EQUAL : 0, 0);
		take_everything();
		make_free(20, 1024, 16);
		lock_wait(&test.mb->groups[20].lock);
		ck_assert_int_eq(pthread_create(&thread, NULL, hold, &test.mb->groups[20].lock), 0);
		take_blocks(0, 16, 0, 0);
		pthread_join(thread, NULL);
		ck_assert_int_eq(stats_now().busy_waits > 0, added);
		ck_assert(!added || mb_criterion_stats(test.mb, 0).hits == 1);
		close_all();
	}
}
END_TEST

START_TEST(test_options)
{
	enum policy_name policy;
	const struct policy_options wrong[] = {
		{ .policy = (enum policy_name)9 },
		{ .choices_added = UINT32_C(1) << (CHOICE_RULE_SHIFT - 1) }, /* no choice */
		{ .choices_added = 1, .choices_dropped = 1 },
	};

	ck_assert_ok(policy_find("base", &policy));
	ck_assert_int_eq(policy, POLICY_BASE);
	ck_assert_error(policy_find("bass", &policy), EXT2MB_ET_BAD_ARGUMENT);
	mb_image_make(OPTIONS, SIZE);
	ext2_filsys fs = mb_image_open();
	for (unsigned int index = 0; index < sizeof(wrong) / sizeof(*wrong); index++) {
		struct ext2mb *mb;
		ck_assert_error(policy_open(fs, &wrong[index], &mb), EXT2MB_ET_BAD_ARGUMENT);
	}
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

static Suite *policy_suite(void)
{
	Suite *suite = suite_create("policy");
	TCase *policy = tcase_create("policy");
	int choices = 0;

	while (all_choices[choices].name)
		choices++;
	tcase_add_unchecked_fixture(policy, mb_image_setup, mb_image_teardown);
	tcase_set_timeout(policy, 600);
	tcase_add_loop_test(policy, test_fight, 0, 3 * (1 + choices));
	tcase_add_test(policy, test_busy);
	tcase_add_test(policy, test_bounce);
	tcase_add_test(policy, test_stream_hits);
	tcase_add_test(policy, test_stream_lock);
	tcase_add_test(policy, test_several_goals);
	tcase_add_test(policy, test_frees);
	tcase_add_test(policy, test_zombies);
	tcase_add_test(policy, test_switch);
	tcase_add_test(policy, test_order);
	tcase_add_test(policy, test_goal_first);
	tcase_add_test(policy, test_wait_at_equal);
	tcase_add_test(policy, test_options);
	suite_add_tcase(suite, policy);
	return suite;
}

int main(void)
{
	return run_suite(policy_suite());
}
