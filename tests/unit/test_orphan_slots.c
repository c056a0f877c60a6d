/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The orphan file's slots in memory, both twins. The lockless one is compiled in here with other threads let in
 * between any two steps whose order matters, so that a wrong order shows within a second.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static _Thread_local uint32_t steps;
static _Thread_local bool yields; /* set by the tests of threads */

static void let_others_in(void)
{
	if (yields && ++steps % 8 == 0)
		sched_yield();
}
#define ORPHAN_SLOTS_BETWEEN_STEPS() let_others_in()

#include "compare/orphan_slots_locked.h"
#include "orphan/orphan_slots.c"
#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

static const struct orphan_slots_twin *const twins[] = { &orphan_slots_lockless, &orphan_slots_locked };

static struct orphan_slots create(int twin, uint32_t blocks, uint32_t per_block)
{
	struct orphan_slots slots;

	ck_assert_ok(orphan_slots_create(&slots, twins[twin], blocks, per_block));
	return slots;
}

/*
 * When nobody is at work, each block's count says how many of its slots are empty, and no slot is kept but the one that
 * the block knows of.
 */
static void check_counts(const struct orphan_slots *slots)
{
	for (uint32_t block = 0; block < slots->blocks; block++) {
		uint32_t empty = 0;

		for (uint32_t slot = 0; slot < slots->per_block; slot++) {
			uint32_t entry = orphan_slots_entries(slots, block)[slot];

			empty += !entry;
			ck_assert(entry != ORPHAN_SLOT_KEPT || slot == slots->block[block].kept);
		}
		ck_assert_uint_eq(slots->block[block].free, empty);
	}
}

/* Random operations against an array. */
START_TEST(test_model)
{
	enum { BLOCKS = 3, PER_BLOCK = 10, SLOTS = BLOCKS * PER_BLOCK };
	struct orphan_slots slots = create(_i, BLOCKS, PER_BLOCK);
	struct random random = random_start("orphan slots");
	uint32_t model[SLOTS] = { 0 }, used = 0;

	for (int operation = 0; operation < 200000; operation++) {
		uint32_t ino = 1 + (uint32_t)random_below(&random, 1000);
		uint32_t index = (uint32_t)random_below(&random, SLOTS + 3);

		if (random_below(&random, 2)) {
			errcode_t error = orphan_slots_claim(&slots, (uint32_t)random_next(&random), ino, &index);
			ck_assert_int_eq(error, used == SLOTS ? ENOSPC : 0);
			if (error)
				continue;
			ck_assert_uint_lt(index, SLOTS);
			ck_assert_uint_eq(model[index], 0);
			model[index] = ino;
			used++;
		} else if (index < SLOTS && model[index] && random_below(&random, 9)) {
			ck_assert_ok(orphan_slots_put(&slots, index, model[index]));
			model[index] = 0;
			used--;
		} else if (index >= SLOTS || model[index] != ino) {
			ck_assert_error(orphan_slots_put(&slots, index, ino), EXT2MB_ET_ORPHAN_ABSENT);
			ck_assert_error(orphan_slots_put(&slots, index, 0), EXT2MB_ET_ORPHAN_ABSENT);
			ck_assert_error(orphan_slots_put(&slots, index, ORPHAN_SLOT_KEPT), EXT2MB_ET_ORPHAN_ABSENT);
		}
		uint32_t from = (uint32_t)random_below(&random, SLOTS + 1), at = from;
		uint32_t found = orphan_slots_next(&slots, &at);
		while (from < SLOTS && !model[from])
			from++;
		ck_assert_uint_eq(found, from < SLOTS ? model[from] : 0);
		if (found)
			ck_assert_uint_eq(at, from);
	}
	check_counts(&slots);
	orphan_slots_destroy(&slots);
}
END_TEST

/* A block is collected once after each change. */
START_TEST(test_collect)
{
	struct orphan_slots slots = create(_i, 2, 4);
	uint32_t on_disk[4] = { 0, 21, 0, 22 }, copy[4], index;

	orphan_slots_load(&slots, 0, on_disk);
	orphan_slots_load(&slots, 1, on_disk);
	check_counts(&slots);
	ck_assert(!orphan_slots_collect(&slots, 0, copy) && !orphan_slots_collect(&slots, 1, copy));
	ck_assert_ok(orphan_slots_put(&slots, 5, 21));
	ck_assert(!orphan_slots_collect(&slots, 0, copy));
	ck_assert(orphan_slots_collect(&slots, 1, copy));
	ck_assert_int_eq(memcmp(copy, (uint32_t[]){ 0, 0, 0, 22 }, sizeof(copy)), 0);
	ck_assert(!orphan_slots_collect(&slots, 1, copy));
	ck_assert_ok(orphan_slots_claim(&slots, 0, 23, &index));
	ck_assert(orphan_slots_collect(&slots, 0, copy));
	ck_assert_uint_eq(copy[index], 23);
	orphan_slots_mark_changed(&slots, 0);
	ck_assert(orphan_slots_collect(&slots, 0, copy));
	orphan_slots_destroy(&slots);
}
END_TEST

/* A thread that comes back finds the slot that was left last, uncounted; on disk it is empty; damage is not taken for
 * it. */
START_TEST(test_kept)
{
	struct orphan_slots slots = create(0, 2, 4);
	uint32_t damaged[4] = { 0, UINT32_MAX, 0, 0 }, copy[4], first, index, at = 0;

	orphan_slots_load(&slots, 1, damaged);
	ck_assert_uint_eq(orphan_slots_next(&slots, &at), UINT32_MAX - 1);
	ck_assert_uint_eq(at, 5);

	ck_assert_ok(orphan_slots_claim(&slots, 0, 31, &first));
	ck_assert_ok(orphan_slots_put(&slots, first, 31));
	ck_assert_uint_eq(slots.entries[first], ORPHAN_SLOT_KEPT);
	ck_assert_uint_eq(slots.block[0].free, 3);
	ck_assert(orphan_slots_collect(&slots, 0, copy));
	ck_assert_int_eq(memcmp(copy, (uint32_t[4]){ 0 }, sizeof(copy)), 0);
	for (uint32_t ino = 32; ino < 40; ino++) {
		ck_assert_ok(orphan_slots_claim(&slots, 0, ino, &index));
		ck_assert_uint_eq(index, first);
		ck_assert_uint_eq(slots.block[0].free, 3);
		ck_assert(orphan_slots_collect(&slots, 0, copy));
		ck_assert_uint_eq(copy[first], ino);
		ck_assert_ok(orphan_slots_put(&slots, index, ino));
		ck_assert(orphan_slots_collect(&slots, 0, copy));
		ck_assert_uint_eq(copy[first], 0);
	}
	check_counts(&slots);
	orphan_slots_destroy(&slots);
}
END_TEST

/* The last slot that there is, in whatever block it is kept. */
START_TEST(test_kept_elsewhere)
{
	struct orphan_slots slots = create(0, 3, 2);
	uint32_t index[6], again;

	for (uint32_t number = 0; number < 6; number++)
		ck_assert_ok(orphan_slots_claim(&slots, number, 100 + number, &index[number]));
	for (uint32_t number = 0; number < 6; number++) {
		ck_assert_ok(orphan_slots_put(&slots, index[number], 100 + number));
		ck_assert_uint_eq(orphan_slots_entries(&slots, index[number] / 2)[index[number] % 2], ORPHAN_SLOT_KEPT);
		for (uint32_t worker = 0; worker < 3; worker++) {
			ck_assert_ok(orphan_slots_claim(&slots, worker, 200 + worker, &again));
			ck_assert_uint_eq(again, index[number]);
			ck_assert_ok(orphan_slots_put(&slots, again, 200 + worker));
		}
		ck_assert_ok(orphan_slots_claim(&slots, 0, 100 + number, &again));
		ck_assert_error(orphan_slots_claim(&slots, 0, 300, &again), ENOSPC);
	}
	orphan_slots_destroy(&slots);
}
END_TEST

/* As the multiplication finds it, in the largest file that there can be and in odd ones. */
START_TEST(test_block_of)
{
	static const uint32_t per_block[] = { 1, 2, 3, 5, 254, 1022, 2046, 4094, 8190, 16382 };
	struct orphan_slots slots = create(0, 1, per_block[_i]);

	for (uint32_t index = 0; index < 512 * per_block[_i]; index++)
		if (orphan_slots_block_of(&slots, index) != index / per_block[_i])
			ck_abort_msg("%u of %u", index, per_block[_i]);
	orphan_slots_destroy(&slots);
}
END_TEST

/* A count that promises more than there is: the search ends, and the reservation is not lost. */
START_TEST(test_reservation_is_given_back)
{
	struct orphan_slots slots = create(_i, 2, 8);
	uint32_t index = 0;

	for (uint32_t slot = 0; slot < 8; slot++)
		slots.entries[slot] = 100 + slot;
	orphan_slots_entries(&slots, 1)[0] = 200;
	slots.block[1].free = 0;
	for (int attempt = 0; attempt < 20; attempt++)
		ck_assert_error(orphan_slots_claim(&slots, 0, 99, &index), ENOSPC);
	ck_assert_uint_eq(slots.block[0].free, 8);
	ck_assert_uint_eq(slots.given_back, _i == 0 ? 20 : 0);

	/* Both have another block to turn to; only the lockless one does. */
	slots.block[1].free = 7;
	if (_i == 0) {
		ck_assert_ok(orphan_slots_claim(&slots, 0, 99, &index));
		ck_assert_uint_ge(index, 8);
		ck_assert_uint_eq(slots.block[1].free, 6);
	}
	orphan_slots_destroy(&slots);
}
END_TEST

struct stress {
	struct orphan_slots slots;
	pthread_barrier_t barrier;
	uint32_t rounds;
	uint32_t hold; /* at most so many at a time */
	_Atomic uint64_t refused;
	_Atomic bool is_over;
};

struct stress_thread {
	pthread_t thread;
	struct stress *stress;
	uint32_t number;
	struct random random;
	uint32_t held; /* at the end */
	uint32_t ino[64];
	uint32_t index[64];
};

/* Inode numbers are the thread's own, so whoever overwrites one is found out. */
static void *stress_run(void *context)
{
	struct stress_thread *self = context;
	struct stress *stress = self->stress;
	uint32_t next_ino = 1 + self->number * 10000000;

	yields = true;
	pthread_barrier_wait(&stress->barrier);
	for (uint32_t round = 0; round < stress->rounds; round++) {
		if (self->held < stress->hold && (!self->held || random_below(&self->random, 2))) {
			uint32_t at = self->held;

			self->ino[at] = next_ino++;
			if (orphan_slots_claim(&stress->slots, self->number, self->ino[at], &self->index[at]))
				atomic_fetch_add(&stress->refused, 1);
			else
				self->held++;
		} else {
			uint32_t at = (uint32_t)random_below(&self->random, self->held);

			if (orphan_slots_put(&stress->slots, self->index[at], self->ino[at]))
				atomic_fetch_add(&stress->refused, UINT64_C(1) << 32);
			self->held--;
			self->ino[at] = self->ino[self->held];
			self->index[at] = self->index[self->held];
		}
	}
	return NULL;
}

/* What is there at the end is what the threads hold, each where it says. */
static void check_held(struct stress *stress, const struct stress_thread *threads, uint32_t count)
{
	uint32_t held = 0, found = 0;

	for (uint32_t thread = 0; thread < count; thread++) {
		for (uint32_t number = 0; number < threads[thread].held; number++) {
			uint32_t index = threads[thread].index[number];

			ck_assert_uint_eq(orphan_slots_next(&stress->slots, &index), threads[thread].ino[number]);
			ck_assert_uint_eq(index, threads[thread].index[number]);
			held++;
		}
	}
	for (uint32_t index = 0; orphan_slots_next(&stress->slots, &index); index++)
		found++;
	ck_assert_uint_eq(found, held);
	check_counts(&stress->slots);
}

/* Collects all the time; the last copy of each block, with what a last look adds, is what there is. */
static void *collect_run(void *context)
{
	struct stress *stress = context;
	const struct orphan_slots *slots = &stress->slots;
	uint32_t *copies = calloc((size_t)slots->blocks * slots->per_block, sizeof(*copies));
	bool is_last;

	do {
		is_last = stress->is_over;
		for (uint32_t block = 0; block < slots->blocks; block++)
			(void)!orphan_slots_collect(&stress->slots, block, copies + (size_t)block * slots->per_block);
		sched_yield();
	} while (!is_last);
	return copies;
}

static void check_copies(const struct orphan_slots *slots, const uint32_t *copies)
{
	for (uint32_t block = 0; block < slots->blocks; block++)
		for (uint32_t slot = 0; slot < slots->per_block; slot++) {
			uint32_t entry = orphan_slots_entries(slots, block)[slot];

			ck_assert_uint_eq(entry == ORPHAN_SLOT_KEPT ? 0 : entry,
			                  copies[(size_t)block * slots->per_block + slot]);
		}
}

static uint64_t run_threads(struct stress *stress, uint32_t count)
{
	struct random random = random_start("threads");
	struct stress_thread *threads = calloc(count, sizeof(*threads));
	pthread_t collector;
	void *copies;

	pthread_barrier_init(&stress->barrier, NULL, count);
	ck_assert_int_eq(pthread_create(&collector, NULL, collect_run, stress), 0);
	for (uint32_t number = 0; number < count; number++) {
		threads[number].stress = stress;
		threads[number].number = number;
		threads[number].random.state = random_next(&random);
		ck_assert_int_eq(pthread_create(&threads[number].thread, NULL, stress_run, &threads[number]), 0);
	}
	for (uint32_t number = 0; number < count; number++)
		pthread_join(threads[number].thread, NULL);
	stress->is_over = true;
	pthread_join(collector, &copies);
	check_held(stress, threads, count);
	check_copies(&stress->slots, copies);
	pthread_barrier_destroy(&stress->barrier);
	orphan_slots_destroy(&stress->slots);
	free(copies);
	free(threads);
	return stress->refused;
}

static const uint32_t thread_counts[] = { 1, 2, 3, 8, 65, 200 };
#define THREAD_COUNTS 6

/* Instrumented code takes ten times as long. */
static uint32_t rounds_of(uint32_t threads)
{
	const char *sanitizers = getenv("SANITIZERS");

	return (uint32_t)mb_operations(sanitizers && *sanitizers ? 20000 : 100000) / threads;
}

/* None is lost and none is there twice, in files that fill up and files that do not. */
START_TEST(test_threads)
{
	uint32_t count = thread_counts[_i / 2 % THREAD_COUNTS];
	bool is_tight = _i / 2 >= THREAD_COUNTS;
	struct stress stress = {
		.slots = is_tight ? create(_i % 2, 3, 5) : create(_i % 2, 4, 1022),
		.rounds = rounds_of(count),
		.hold = is_tight ? 10 : 31,
	};
	uint64_t refused = run_threads(&stress, count);

	ck_assert_uint_eq(refused >> 32, 0);
	if (!is_tight)
		ck_assert_uint_eq(refused, 0);
}
END_TEST

/*
 * One slot: a reservation is the only one, so its slot must be found empty at the first look. A count that is
 * raised before the slot is emptied shows here.
 */
START_TEST(test_zero_before_count)
{
	struct stress stress = {
		.slots = create(0, 1, 1),
		.rounds = 2 * rounds_of(1),
		.hold = 1,
	};
	uint64_t refused = run_threads(&stress, 3);

	ck_assert_uint_eq(refused >> 32, 0);
	ck_assert_uint_eq(stress.slots.given_back, 0);
}
END_TEST

struct disk {
	struct orphan_slots slots;
	uint32_t copy[2];
	_Atomic uint32_t looks;
	_Atomic bool is_over;
};

static void *disk_run(void *context)
{
	struct disk *disk = context;

	for (; !disk->is_over; disk->looks++) {
		(void)!orphan_slots_collect(&disk->slots, 0, disk->copy);
		sched_yield();
	}
	return NULL;
}

static void check_disk(struct disk *disk, uint32_t index, uint32_t ino)
{
	uint32_t looks = disk->looks;

	while (disk->looks - looks < 2)
		sched_yield();
	ck_assert_uint_eq(disk->copy[index], ino);
}

/* Each change, and not only one that others follow, is in the copy of the second collection that ends after it. */
START_TEST(test_each_change_is_collected)
{
	struct disk disk = { .slots = create(_i, 1, 2) };
	pthread_t collector;
	uint32_t index;

	yields = true;
	ck_assert_int_eq(pthread_create(&collector, NULL, disk_run, &disk), 0);
	for (uint32_t ino = 1; ino < 2000; ino++) {
		ck_assert_ok(orphan_slots_claim(&disk.slots, 0, ino, &index));
		check_disk(&disk, index, ino);
		ck_assert_ok(orphan_slots_put(&disk.slots, index, ino));
		check_disk(&disk, index, 0);
	}
	disk.is_over = true;
	pthread_join(collector, NULL);
	orphan_slots_destroy(&disk.slots);
}
END_TEST

static Suite *orphan_slots_suite(void)
{
	Suite *suite = suite_create("orphan_slots");
	TCase *slots = tcase_create("slots");

	tcase_set_timeout(slots, 600);
	tcase_add_loop_test(slots, test_model, 0, 2);
	tcase_add_loop_test(slots, test_collect, 0, 2);
	tcase_add_test(slots, test_kept);
	tcase_add_test(slots, test_kept_elsewhere);
	tcase_add_loop_test(slots, test_block_of, 0, 10);
	tcase_add_loop_test(slots, test_reservation_is_given_back, 0, 2);
	tcase_add_loop_test(slots, test_threads, 0, 4 * THREAD_COUNTS);
	tcase_add_test(slots, test_zero_before_count);
	tcase_add_loop_test(slots, test_each_change_is_collected, 0, 2);
	suite_add_tcase(suite, slots);
	return suite;
}

int main(void)
{
	return run_suite(orphan_slots_suite());
}
