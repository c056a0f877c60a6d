/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/node_order.h"

#include <string.h>

#include "unit.h"

/* Node i has i as its uid. Every kept-th goes, if there is such a number. */
static void check_order(uint32_t count, uint32_t (*place)(uint32_t number, uint32_t count), uint32_t dropped)
{
	struct tree_node *nodes = calloc(count, sizeof(*nodes));
	uint32_t *at = malloc(count * sizeof(*at)), *places = malloc(count * sizeof(*places));
	uint32_t *order = malloc(count * sizeof(*order)), *expected = malloc(count * sizeof(*expected)), kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		nodes[i].uid = i;
		at[place(i, count)] = i;
	}
	memset(places, 0xff, count * sizeof(*places));
	for (uint32_t i = 0; i < count; i++) {
		if (dropped && at[i] % dropped == 1)
			continue;
		places[at[i]] = kept;
		expected[kept] = order[kept] = at[i];
		kept++;
	}
	nodes = node_order_apply(nodes, count, order, kept, places);
	for (uint32_t i = 0; i < kept; i++)
		ck_assert_uint_eq(nodes[i].uid, expected[i]);
	free(nodes);
	free(at);
	free(places);
	free(order);
	free(expected);
}

static uint32_t same(uint32_t number, uint32_t count)
{
	(void)count;
	return number;
}

/* As of an archive: each thousandth, a directory, goes to the front. */
static uint32_t directories_first(uint32_t number, uint32_t count)
{
	uint32_t directories = (count + 999) / 1000;

	return number % 1000 == 0 ? number / 1000 : directories + number - number / 1000 - 1;
}

static uint32_t backwards(uint32_t number, uint32_t count)
{
	return count - 1 - number;
}

/* Neighbours come to lie far from each other; 7919 divides none of the counts. */
static uint32_t scattered(uint32_t number, uint32_t count)
{
	return (uint32_t)((uint64_t)number * 7919 % count);
}

START_TEST(each_place_has_its_node)
{
	static const uint32_t counts[] = { 1, 2, 1000, 4096, 300001 };
	static const uint32_t dropped[] = { 0, 2, 3, 1000 };
	uint32_t (*const orders[])(uint32_t, uint32_t) = { same, directories_first, backwards, scattered };

	for (size_t count = 0; count < sizeof(counts) / sizeof(*counts); count++)
		for (size_t order = 0; order < sizeof(orders) / sizeof(*orders); order++)
			for (size_t drop = 0; drop < sizeof(dropped) / sizeof(*dropped); drop++)
				check_order(counts[count], orders[order], dropped[drop]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("node order");
	TCase *tests = tcase_create("node order");

	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, each_place_has_its_node);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
