/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/streams/clocks.h"

#include "unit.h"

#define STREAMS 2
#define TURNS 1000

static struct clocks *clocks;

static void start(const char *machine_text, unsigned int processors, unsigned int cpu_percent)
{
	static struct machine machine;

	ck_assert_int_eq(machine_parse(machine_text, &machine), 0);
	const struct clocks_options options = {
		.machine = &machine,
		.processors = processors,
		.streams = STREAMS,
		.groups = 4,
		.cpu_percent = cpu_percent,
		.seed = 1,
	};
	ck_assert_int_eq(clocks_create(&options, &clocks), 0);
}

/* All turns, of all streams together; each takes the lock of a group. */
static double run(bool is_own_group)
{
	unsigned int left[STREAMS] = { TURNS, TURNS };

	for (unsigned int turn = 0; turn < STREAMS * TURNS; turn++) {
		unsigned int stream = clocks_begin(clocks);

		clocks_lock(clocks, LOCK_OF_GROUP, is_own_group ? stream : 0, 1);
		clocks_end(clocks, !--left[stream]);
	}
	double seconds = clocks_cost(clocks).seconds;

	clocks_destroy(clocks);
	return seconds;
}

static void assert_near(double value, double expected)
{
	ck_assert(value > 0.9 * expected);
	ck_assert(value < 1.1 * expected);
}

/* 1000 turns of 10 microseconds each: side by side, one after the other on one processor, or behind one lock. */
START_TEST(a_lock_is_for_one_at_a_time)
{
	start("0:10000:0:0:0", 2, 0);
	assert_near(run(true), 0.01);
	start("0:10000:0:0:0", 1, 0);
	assert_near(run(true), 0.02);
	start("0:10000:0:0:0", 2, 0);
	assert_near(run(false), 0.02);
	start("100:0:10000:0:0", 2, 0);
	assert_near(run(false), 0.02);
	start("0:0:0:0:10000", 2, 0);
	assert_near(run(true), 0.02);
}
END_TEST

/* 1 s of work each, of which 250 ms fit into a second. */
START_TEST(a_limited_stream_waits_for_the_next_period)
{
	start("1000000:0:0:0:0", 2, 25);
	double seconds = run(true);

	ck_assert(seconds > 3.5);
	ck_assert(seconds < 4.5);
}
END_TEST

START_TEST(a_group_is_busy_while_another_holds_it)
{
	start("0:1000:0:0:0", 2, 0);
	const struct contention *contention = clocks_contention(clocks);
	unsigned int stream = clocks_begin(clocks);

	ck_assert(!contention->is_busy(contention->context, 0));
	contention->has_locked(contention->context, 0);
	ck_assert(!contention->is_busy(contention->context, 0));
	clocks_end(clocks, false);
	ck_assert_uint_ne(clocks_begin(clocks), stream);
	ck_assert(contention->is_busy(contention->context, 0));
	ck_assert(!contention->is_busy(contention->context, 1));
	clocks_destroy(clocks);
}
END_TEST

/* The first turn takes the lock once it has spent 10 microseconds elsewhere; the second is over before that. */
START_TEST(what_is_taken_later_keeps_no_earlier_turn_waiting)
{
	start("0:1000:0:0:0", 2, 0);
	const struct contention *contention = clocks_contention(clocks);
	unsigned int first = clocks_begin(clocks);

	clocks_lock(clocks, LOCK_OF_ORPHANS, 0, 10);
	clocks_lock(clocks, LOCK_OF_GROUP, 0, 1);
	clocks_end(clocks, false);
	ck_assert_uint_ne(clocks_begin(clocks), first);
	ck_assert(!contention->is_busy(contention->context, 0));
	clocks_lock(clocks, LOCK_OF_GROUP, 0, 1);
	ck_assert(clocks_now(clocks) < 2e-6);
	/* There is room for eight more before the first one's; the rest comes after it. */
	clocks_lock(clocks, LOCK_OF_GROUP, 0, 10);
	ck_assert(clocks_now(clocks) > 12e-6 - 1e-9);
	clocks_destroy(clocks);
}
END_TEST

/* While its owner waits for the filesystem's lock, a group stays busy. */
START_TEST(locks_inside_of_a_groups_keep_it_busy)
{
	start("0:1000:0:0:0", 2, 0);
	const struct contention *contention = clocks_contention(clocks);
	const struct lock_observer *observer = clocks_observer(clocks);

	clocks_begin(clocks);
	clocks_lock(clocks, LOCK_OF_GROUP, 0, 1);
	for (unsigned int time = 0; time < 5; time++)
		observer->global(observer->context);
	clocks_end(clocks, false);
	clocks_begin(clocks);
	clocks_lock(clocks, LOCK_OF_GROUP, 1, 3);
	ck_assert(contention->is_busy(contention->context, 0));
	clocks_lock(clocks, LOCK_OF_GROUP, 1, 4);
	ck_assert(!contention->is_busy(contention->context, 0));
	clocks_destroy(clocks);
}
END_TEST

/* A paused call takes neither its own nor the serialised time. */
START_TEST(a_paused_call_ends_later)
{
	start("1000000:0:0:0:1000000", 1, 0);
	clocks_begin(clocks);
	double begun = clocks_now(clocks);

	clocks_pause(clocks);
	clocks_end(clocks, false);
	clocks_begin(clocks);
	ck_assert(clocks_now(clocks) - begun < 1e-9);
	clocks_end(clocks, false);
	clocks_begin(clocks);
	ck_assert(clocks_now(clocks) - begun > 1e-3);
	clocks_destroy(clocks);
}
END_TEST

START_TEST(calls_of_others_in_between_cost_more)
{
	start("1000:0:0:0:0:10000", 2, 0);
	assert_near(run(true), 0.011);
	start("1000:0:0:0:0:10000", 1, 0);
	assert_near(run(true), 0.002);
}
END_TEST

START_TEST(machines_are_five_to_seven_numbers_or_a_name)
{
	struct machine machine;

	ck_assert_int_eq(machine_parse("1:2:3:4:5", &machine), 0);
	ck_assert_uint_eq(machine.call, 1);
	ck_assert_uint_eq(machine.shared, 5);
	ck_assert_int_eq(machine_parse("amd-9654", &machine), 0);
	ck_assert_int_ne(machine_parse("1:2:3:4", &machine), 0);
	ck_assert_uint_eq(machine.far, 0);
	ck_assert_int_eq(machine_parse("1:2:3:4:5:6", &machine), 0);
	ck_assert_uint_eq(machine.far, 6);
	ck_assert_int_ne(machine_parse("1:2:3:4:5:", &machine), 0);
	ck_assert_uint_eq(machine.line, 3);
	ck_assert_int_eq(machine_parse("1:2:3:4:5:6:7", &machine), 0);
	ck_assert_uint_eq(machine.line, 7);
	ck_assert_int_ne(machine_parse("1:2:3:4:5:6:7:8", &machine), 0);
	ck_assert_int_ne(machine_parse("amd", &machine), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("clocks");
	TCase *tests = tcase_create("clocks");

	tcase_add_test(tests, a_lock_is_for_one_at_a_time);
	tcase_add_test(tests, a_limited_stream_waits_for_the_next_period);
	tcase_add_test(tests, a_group_is_busy_while_another_holds_it);
	tcase_add_test(tests, what_is_taken_later_keeps_no_earlier_turn_waiting);
	tcase_add_test(tests, locks_inside_of_a_groups_keep_it_busy);
	tcase_add_test(tests, a_paused_call_ends_later);
	tcase_add_test(tests, calls_of_others_in_between_cost_more);
	tcase_add_test(tests, machines_are_five_to_seven_numbers_or_a_name);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
