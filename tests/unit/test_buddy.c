/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "allocator/core/buddy.h"

#include <string.h>

#include "seeded_random.h"
#include "unit.h"

static uint64_t operations(void)
{
	const char *text = getenv("TEST_OPERATIONS");

	return text ? strtoull(text, NULL, 10) : 20000;
}

static struct buddy *make(unsigned int block_bits, uint32_t clusters)
{
	struct buddy *buddy = malloc(buddy_bytes(block_bits));

	buddy_init(buddy, block_bits, clusters);
	memset(buddy->bitmap, 0, buddy->capacity_bits / 8);
	buddy_build(buddy);
	return buddy;
}

/* Worked out by hand from the definition: the largest aligned block that is wholly free, capped at the top. */
START_TEST(test_orders)
{
	struct buddy *buddy = make(10, 8192);
	uint32_t start = 0;

	ck_assert_uint_eq(buddy->orders, 12);
	ck_assert_uint_eq(buddy->counters[11], 4);
	ck_assert_uint_eq(buddy->fragments, 1);
	ck_assert_int_eq(buddy_largest_order(buddy), 11);

	/* Taking [5, 8) of the first quarter leaves [0, 4), 4 and [8, 2048). */
	buddy_alloc(buddy, 5, 3);
	ck_assert_uint_eq(buddy->counters[0], 1);
	ck_assert_uint_eq(buddy->counters[2], 1);
	for (unsigned int order = 3; order <= 10; order++)
		ck_assert_uint_eq(buddy->counters[order], 1);
	ck_assert_uint_eq(buddy->counters[1], 0);
	ck_assert_uint_eq(buddy->counters[11], 3);
	ck_assert_uint_eq(buddy->fragments, 2);
	ck_assert_uint_eq(buddy->first_free, 0);

	/* Order 1 has none, so the lowest that serves is order 2's. */
	ck_assert(buddy_find_order(buddy, 1, &start));
	ck_assert_uint_eq(start, 0);
	ck_assert(buddy_find_order(buddy, 3, &start));
	ck_assert_uint_eq(start, 8);

	buddy_alloc(buddy, 0, 5);
	ck_assert_uint_eq(buddy->fragments, 1);
	ck_assert_uint_eq(buddy->first_free, 5);
	buddy_give(buddy, 0, 8);
	ck_assert_uint_eq(buddy->counters[11], 4);
	ck_assert_uint_eq(buddy->present, 1u << 11);
	buddy_alloc(buddy, 0, 8192);
	ck_assert_int_eq(buddy_largest_order(buddy), -1);
	ck_assert(!buddy_find_order(buddy, 1, &start));
	ck_assert_uint_eq(buddy->fragments, 0);
	free(buddy);
}
END_TEST

/* The naive twin: bytes, and orders found by looking at every aligned block from the top down. */
static void count_orders(const uint8_t *used, uint32_t capacity, unsigned int orders, uint32_t *counters)
{
	memset(counters, 0, BUDDY_MAX_ORDERS * sizeof(*counters));
	for (uint32_t position = 0; position < capacity;) {
		unsigned int order = orders;

		while (order-- > 0) {
			uint32_t size = 1u << order;
			if (position % size || position + size > capacity || memchr(used + position, 1, size))
				continue;
			counters[order]++;
			break;
		}
		position += used[position] ? 1 : 1u << order;
	}
}

static uint32_t count_fragments(const uint8_t *used, uint32_t capacity)
{
	uint32_t fragments = 0;

	for (uint32_t position = 0; position < capacity; position++)
		fragments += !used[position] && (!position || used[position - 1]);
	return fragments;
}

static void compare_run_ends(const struct buddy *buddy, const uint8_t *used)
{
	uint32_t end = buddy->capacity_bits;

	for (uint32_t position = end; position-- > 0;) {
		if (used[position])
			end = position;
		else if (!position || used[position - 1])
			ck_assert_uint_eq(buddy_run_end(buddy, position), end);
	}
}

static void compare(const struct buddy *buddy, const uint8_t *used)
{
	uint32_t counters[BUDDY_MAX_ORDERS];
	struct buddy *scratch = malloc(buddy_bytes(buddy->orders - 2));
	const char *wrong = buddy_check(buddy, scratch);

	ck_assert_msg(!wrong, "%s", wrong);
	count_orders(used, buddy->capacity_bits, buddy->orders, counters);
	ck_assert_mem_eq(counters, buddy->counters, sizeof(counters));
	ck_assert_uint_eq(buddy->fragments, count_fragments(used, buddy->capacity_bits));
	for (uint32_t position = 0; position < buddy->capacity_bits; position++)
		if (bits_test(buddy->bitmap, position) != used[position])
			ck_abort_msg("cluster %u is wrong", position);
	compare_run_ends(buddy, used);
	free(scratch);
}

/* Extends a range of one state from a random place. */
static uint32_t extend(const uint8_t *used, uint32_t start, uint32_t clusters, uint32_t most)
{
	uint32_t end = start + 1;

	while (end < clusters && used[end] == used[start] && end - start < most)
		end++;
	return end;
}

/* One run in a group of 8192, with ends where buddies of every order begin and end, and next to there. */
START_TEST(test_run_ends)
{
	static const uint32_t places[] = { 0, 1, 63, 64, 65, 128, 191, 192, 1024, 2048, 4032, 6144, 8128, 8191, 8192 };
	const size_t count = sizeof(places) / sizeof(*places);

	for (size_t first = 0; first < count; first++)
		for (size_t last = first + 1; last < count; last++) {
			struct buddy *buddy = make(10, 8192);

			if (places[first])
				buddy_alloc(buddy, 0, places[first]);
			if (places[last] < 8192)
				buddy_alloc(buddy, places[last], 8192 - places[last]);
			ck_assert_uint_eq(buddy_run_end(buddy, places[first]), places[last]);
			free(buddy);
		}
}
END_TEST

static const struct {
	unsigned int block_bits;
	uint32_t clusters;
} sizes[] = { { 10, 8192 },  { 10, 5003 },  { 10, 8 },      { 11, 256 },
	      { 12, 32768 }, { 12, 32767 }, { 16, 524288 }, { 16, 70001 } };

/* The first run of at least so many clusters from a place on, or a bound for all that there are from there on. */
static void compare_next_run(const struct buddy *buddy, const uint8_t *used, uint32_t from, uint32_t least)
{
	uint32_t longest = 0, start = from, end = from, found_end = 0;

	while (start < buddy->clusters) {
		while (start < buddy->clusters && used[start])
			start++;
		for (end = start; end < buddy->clusters && !used[end];)
			end++;
		if (end - start > longest)
			longest = end - start;
		if (end - start >= least)
			break;
		start = end;
	}
	ck_assert_uint_eq(buddy_next_run(buddy, from, least, &found_end), start);
	if (start < buddy->clusters) {
		ck_assert_uint_eq(found_end, end);
	} else {
		ck_assert_uint_ge(found_end, longest);
		ck_assert_uint_lt(found_end, least);
	}
}

START_TEST(test_model)
{
	struct random random = random_start("buddy");
	uint32_t clusters = sizes[_i].clusters;
	struct buddy *buddy = make(sizes[_i].block_bits, clusters);
	uint8_t *used = calloc(1, buddy->capacity_bits);
	uint64_t count = operations();

	memset(used + clusters, 1, buddy->capacity_bits - clusters);
	for (uint64_t operation = 0; operation < count; operation++) {
		uint32_t start = (uint32_t)random_below(&random, clusters);
		uint32_t most = 1 + (uint32_t)random_below(&random, UINT64_C(1) << random_below(&random, 15));
		uint32_t end = extend(used, start, clusters, most);

		if (used[start])
			buddy_give(buddy, start, end - start);
		else
			buddy_alloc(buddy, start, end - start);
		memset(used + start, !used[start], end - start);
		if (operation % (count / (clusters <= 8192 ? 200 : 8) + 1) == 0)
			compare(buddy, used);
		if (operation % (count / 100 + 1) == 0)
			compare_next_run(buddy, used, random_below(&random, 4) ? start : 0, most);
	}
	compare(buddy, used);
	free(used);
	free(buddy);
}
END_TEST

START_TEST(test_bits)
{
	struct random random = random_start("bits");
	uint64_t words[5];
	uint8_t bytes[320];

	for (unsigned int round = 0; round < 3000; round++) {
		uint32_t from = (uint32_t)random_below(&random, 321);
		uint32_t end = from + (uint32_t)random_below(&random, 321 - from);
		uint32_t one = end, zero = end, ones = 0, after = from;

		for (unsigned int index = 0; index < 5; index++)
			words[index] = round % 3 == 0 ? 0 : round % 3 == 1 ? ~UINT64_C(0) : random_next(&random);
		for (unsigned int flips = round % 7; flips; flips--)
			words[random_below(&random, 5)] ^= UINT64_C(1) << random_below(&random, 64);
		for (uint32_t bit = 0; bit < 320; bit++)
			bytes[bit] = bits_test(words, bit);
		for (uint32_t bit = end; bit-- > from;) {
			one = bytes[bit] ? bit : one;
			zero = bytes[bit] ? zero : bit;
			ones += bytes[bit];
			if (after == from && bytes[bit])
				after = bit + 1;
		}
		ck_assert_uint_eq(bits_next_one(words, from, end), one);
		ck_assert_uint_eq(bits_next_zero(words, from, end), zero);
		ck_assert_uint_eq(bits_count(words, from, end), ones);
		ck_assert_uint_eq(bits_after_last_one(words, from, end), after);
		if (round % 2)
			bits_set_range(words, from, end);
		else
			bits_clear_range(words, from, end);
		memset(bytes + from, round % 2, end - from);
		for (uint32_t bit = 0; bit < 320; bit++)
			if (bits_test(words, bit) != bytes[bit])
				ck_abort_msg("bit %u is wrong", bit);
	}
}
END_TEST

static Suite *buddy_suite(void)
{
	Suite *suite = suite_create("buddy");
	TCase *buddy = tcase_create("buddy");

	tcase_set_timeout(buddy, 3600);
	tcase_add_test(buddy, test_bits);
	tcase_add_test(buddy, test_orders);
	tcase_add_test(buddy, test_run_ends);
	tcase_add_loop_test(buddy, test_model, 0, sizeof(sizes) / sizeof(*sizes));
	suite_add_tcase(suite, buddy);
	return suite;
}

int main(void)
{
	return run_suite(buddy_suite());
}
