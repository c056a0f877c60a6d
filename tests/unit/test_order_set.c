/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <pthread.h>
#include <sched.h>

#include "seeded_random.h"
#include "unit.h"

struct order_set;
static void meanwhile(struct order_set *set);
#define ORDER_SET_MEANWHILE(set) meanwhile(set)
#include "../../lib/allocator/core/order_set.c"

static uint64_t operations(uint64_t otherwise)
{
	const char *text = getenv("TEST_OPERATIONS");

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static const uint32_t sizes[] = { 1, 63, 64, 65, 4096, 4097, 70000 };

START_TEST(test_model)
{
	struct random random = random_start("order set");
	uint32_t size = sizes[_i];
	struct order_set set;
	uint8_t *members = calloc(1, size);
	uint32_t count = 0;

	ck_assert_int_eq(order_set_create(&set, size), 0);
	for (uint64_t operation = 0; operation < operations(20000); operation++) {
		uint32_t number = (uint32_t)random_below(&random, size);
		uint32_t end = (uint32_t)random_below(&random, (uint64_t)size + 10);

		/* In waves, so that the set is sparse at times: a member then lies words away. */
		if (random_below(&random, 1000) < operation / 100 % 1000) {
			order_set_add(&set, number);
			count += !members[number];
			members[number] = 1;
		} else {
			uint32_t found = order_set_next(&set, number, size);
			found = found == ORDER_SET_NONE ? number : found;
			order_set_remove(&set, found);
			count -= members[found];
			members[found] = 0;
		}
		ck_assert_int_eq(order_set_is_empty(&set), !count);
		if (order_set_has(&set, number) != members[number])
			ck_abort_msg("%u is wrongly in the set or out of it", number);
		uint32_t expected = number;
		while (expected < size && expected < end && !members[expected])
			expected++;
		if (expected >= size || expected >= end)
			expected = ORDER_SET_NONE;
		if (order_set_next(&set, number, end) != expected)
			ck_abort_msg("after %u before %u: not %u", number, end, expected);
	}
	order_set_destroy(&set);
	free(members);
}
END_TEST

/*
 * The lost summary bit: a thread removes the last member of a word and is about to clear the summary, when
 * another adds a member to the same word and sets it. Here the other thread's part is done at exactly that
 * moment, on the level that is asked for. Without the second look in remove_from() the member is lost.
 */
static struct {
	int level; /* how many words must have become empty; 0: never */
	uint32_t number;
} interruption;

static void meanwhile(struct order_set *set)
{
	if (interruption.level && !--interruption.level)
		order_set_add(set, interruption.number);
}

/* Far enough from 0 that a search which begins there finds it through summaries on every level. */
#define FAR (64 * 64 * 64 + 64 * 64 + 64)

START_TEST(test_interrupted_removal)
{
	static const uint32_t added[] = { FAR, FAR + 63, FAR + 64, FAR + 4000, FAR + 4096, FAR - 64 };
	struct order_set set;

	ck_assert_int_eq(order_set_create(&set, 300000), 0);
	ck_assert_uint_eq(set.level_count, 4);
	for (int level = 1; level <= 3; level++) {
		for (size_t index = 0; index < sizeof(added) / sizeof(*added); index++) {
			order_set_add(&set, FAR + 1);
			interruption.level = level;
			interruption.number = added[index];
			order_set_remove(&set, FAR + 1);
			ck_assert_int_eq(interruption.level, 0);
			ck_assert_uint_eq(order_set_next(&set, 0, UINT32_MAX), added[index]);
			order_set_remove(&set, added[index]);
			ck_assert_uint_eq(order_set_next(&set, 0, UINT32_MAX), ORDER_SET_NONE);
		}
	}
	order_set_destroy(&set);
}
END_TEST

/*
 * The same with real threads, where it is rare: an adder's two writes must fall between a remover's two, which
 * happens mostly to a remover that loses its processor there.
 */
struct race {
	struct order_set set;
	_Atomic uint64_t begun; /* the trial that the other thread may begin */
	_Atomic uint64_t ended;
	uint64_t trials;
};

static void wait_for(const _Atomic uint64_t *counter, uint64_t value)
{
	for (unsigned int spins = 0; atomic_load(counter) < value; spins++)
		if (spins % 4096 == 4095)
			sched_yield();
}

/* A few nanoseconds more or less, so that the two threads meet in ever different ways. */
static void hesitate(struct random *random)
{
	for (volatile uint64_t steps = random_below(random, 32); steps; steps--)
		;
}

static void *run_remover(void *argument)
{
	struct race *race = argument;
	struct random random = { 1 };

	for (uint64_t trial = 1; trial <= race->trials; trial++) {
		wait_for(&race->begun, trial);
		hesitate(&random);
		order_set_remove(&race->set, FAR + 1);
		atomic_store(&race->ended, trial);
	}
	return NULL;
}

START_TEST(test_summaries)
{
	struct race race = { .trials = operations(100000) };
	struct random random = { 2 };
	pthread_t remover;

	ck_assert_int_eq(order_set_create(&race.set, 300000), 0);
	ck_assert_int_eq(pthread_create(&remover, NULL, run_remover, &race), 0);
	for (uint64_t trial = 1; trial <= race.trials; trial++) {
		order_set_add(&race.set, FAR + 1);
		atomic_store(&race.begun, trial);
		hesitate(&random);
		order_set_add(&race.set, FAR);
		wait_for(&race.ended, trial);
		if (order_set_next(&race.set, 0, UINT32_MAX) != FAR)
			ck_abort_msg("lost in trial %llu", (unsigned long long)trial);
		order_set_remove(&race.set, FAR);
		if (order_set_next(&race.set, 0, UINT32_MAX) != ORDER_SET_NONE)
			ck_abort_msg("a member too many in trial %llu", (unsigned long long)trial);
	}
	pthread_join(remover, NULL);
	order_set_destroy(&race.set);
}
END_TEST

static Suite *order_set_suite(void)
{
	Suite *suite = suite_create("order_set");
	TCase *order_set = tcase_create("order_set");

	tcase_set_timeout(order_set, 3600);
	tcase_add_loop_test(order_set, test_model, 0, sizeof(sizes) / sizeof(*sizes));
	tcase_add_test(order_set, test_interrupted_removal);
	tcase_add_test(order_set, test_summaries);
	suite_add_tcase(suite, order_set);
	return suite;
}

int main(void)
{
	return run_suite(order_set_suite());
}
