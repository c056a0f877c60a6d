/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/streams/processors.h"

#include "unit.h"

#define STREAMS 5
#define GROUPS 10

static struct processors *processors;
static const struct contention *contention;

static void start(unsigned int count)
{
	ck_assert_int_eq(processors_create(count, STREAMS, GROUPS, &processors), 0);
	contention = processors_contention(processors);
}

static void take(unsigned int stream, uint32_t group)
{
	processors_turn(processors, stream);
	contention->has_taken(contention->context, group);
}

/* The busy groups, as bits. */
static unsigned int busy(void)
{
	unsigned int groups = 0;

	for (uint32_t group = 0; group < GROUPS; group++)
		groups |= (unsigned int)contention->is_busy(contention->context, group) << group;
	return groups;
}

START_TEST(others_stay_where_they_were)
{
	start(3);
	take(0, 4);
	ck_assert_uint_eq(busy(), 0);
	processors_turn(processors, 1);
	ck_assert_uint_eq(busy(), 1 << 4);
	contention->has_taken(contention->context, 6);
	processors_turn(processors, 2);
	ck_assert_uint_eq(busy(), 1 << 4 | 1 << 6);
	contention->has_taken(contention->context, 7);
	/* Three processors: stream 0 has left. */
	processors_turn(processors, 3);
	ck_assert_uint_eq(busy(), 1 << 6 | 1 << 7);
	/* Without a group, stream 3 is on a processor all the same. */
	processors_turn(processors, 4);
	ck_assert_uint_eq(busy(), 1 << 7);
	processors_turn(processors, 0);
	ck_assert_uint_eq(busy(), 0);
	processors_destroy(processors);
}
END_TEST

START_TEST(nobody_stands_in_his_own_way)
{
	start(4);
	take(0, 3);
	processors_turn(processors, 0);
	ck_assert_uint_eq(busy(), 0);
	contention->has_taken(contention->context, 5);
	take(1, 5);
	processors_turn(processors, 0);
	/* Stream 1 is in group 5, too. */
	ck_assert_uint_eq(busy(), 1 << 5);
	contention->has_taken(contention->context, 2);
	processors_turn(processors, 1);
	ck_assert_uint_eq(busy(), 1 << 2);
	processors_destroy(processors);
}
END_TEST

START_TEST(a_second_turn_is_not_ended_by_the_first)
{
	start(3);
	take(0, 1);
	take(0, 2);
	/* The first turn would end here. */
	processors_turn(processors, 1);
	ck_assert_uint_eq(busy(), 1 << 2);
	processors_turn(processors, 2);
	ck_assert_uint_eq(busy(), 1 << 2);
	processors_turn(processors, 3);
	ck_assert_uint_eq(busy(), 0);
	processors_destroy(processors);
}
END_TEST

START_TEST(one_processor_has_no_contention)
{
	start(1);
	for (unsigned int turn = 0; turn < 100; turn++) {
		take(turn % STREAMS, turn % GROUPS);
		ck_assert_uint_eq(busy(), 0);
	}
	processors_destroy(processors);
}
END_TEST

static bool is_contended(void)
{
	return contention->is_contended(contention->context);
}

/* Each lock that has to be waited for counts up to 8, each other one back; the filesystem is busy from 3 on. */
START_TEST(waits_make_the_filesystem_busy)
{
	start(3);
	take(0, 4);
	processors_turn(processors, 1);
	for (unsigned int lock = 1; lock <= 20; lock++) {
		contention->has_locked(contention->context, 4);
		ck_assert_int_eq(is_contended(), lock > 2);
	}
	for (unsigned int lock = 1; lock <= 20; lock++) {
		contention->has_locked(contention->context, 5);
		ck_assert_int_eq(is_contended(), lock < 6);
	}
	/* The bitmap is marked under the same lock. */
	for (unsigned int lock = 1; lock <= 3; lock++)
		contention->has_taken(contention->context, 4);
	ck_assert(is_contended());
	processors_destroy(processors);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("processors");
	TCase *tests = tcase_create("processors");

	tcase_add_test(tests, others_stay_where_they_were);
	tcase_add_test(tests, nobody_stands_in_his_own_way);
	tcase_add_test(tests, a_second_turn_is_not_ended_by_the_first);
	tcase_add_test(tests, one_processor_has_no_contention);
	tcase_add_test(tests, waits_make_the_filesystem_busy);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
