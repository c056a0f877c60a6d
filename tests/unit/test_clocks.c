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

START_TEST(machines_are_five_numbers_or_a_name)
{
	struct machine machine;

	ck_assert_int_eq(machine_parse("1:2:3:4:5", &machine), 0);
	ck_assert_uint_eq(machine.call, 1);
	ck_assert_uint_eq(machine.shared, 5);
	ck_assert_int_eq(machine_parse("amd-9654", &machine), 0);
	ck_assert_int_ne(machine_parse("1:2:3:4", &machine), 0);
	ck_assert_int_ne(machine_parse("1:2:3:4:5:6", &machine), 0);
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
	tcase_add_test(tests, machines_are_five_numbers_or_a_name);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
