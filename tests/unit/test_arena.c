/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/arena.h"

#include <stdint.h>
#include <string.h>

#include "seeded_random.h"
#include "unit.h"

#define PIECES 8000

struct piece {
	unsigned char *bytes;
	size_t size;
	unsigned char value;
};

/* Allocates pieces of many sizes, some larger than any chunk, each filled with a value of its own. */
static void fill(struct arena *arena, struct random *random, struct piece *pieces, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct piece *piece = &pieces[i];

		piece->size = random_below(random, 300);
		if (!random_below(random, 500))
			piece->size = random_below(random, 3 << 20);
		piece->value = (unsigned char)random_next(random);
		if (random_below(random, 2)) {
			piece->bytes = arena_alloc(arena, piece->size);
			ck_assert_ptr_nonnull(piece->bytes);
			ck_assert_uint_eq((uintptr_t)piece->bytes % _Alignof(max_align_t), 0);
			memset(piece->bytes, piece->value, piece->size);
		} else {
			char *source = malloc(piece->size + 1);

			memset(source, piece->value, piece->size + 1);
			piece->bytes = (unsigned char *)arena_copy_string(arena, source, piece->size);
			free(source);
			ck_assert_ptr_nonnull(piece->bytes);
			ck_assert_uint_eq(piece->bytes[piece->size], 0);
		}
	}
}

static void expect_filled(const struct piece *pieces, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t at = 0; at < pieces[i].size; at++)
			if (pieces[i].bytes[at] != pieces[i].value)
				ck_abort_msg("piece %zu was overwritten at %zu", i, at);
}

START_TEST(pieces_do_not_overlap)
{
	struct random random = random_start("pieces_do_not_overlap");
	struct arena arena = { 0 };
	struct piece *pieces = calloc(PIECES, sizeof(*pieces));

	fill(&arena, &random, pieces, PIECES);
	expect_filled(pieces, PIECES);
	arena_destroy(&arena);
	ck_assert_ptr_null(arena.chunks);
	free(pieces);
}
END_TEST

START_TEST(joined_memory_stays)
{
	struct random random = random_start("joined_memory_stays");
	struct piece *pieces = calloc(PIECES, sizeof(*pieces));
	struct arena all = { 0 };
	size_t done = 0;

	while (done < PIECES) {
		struct arena part = { 0 };
		size_t count = random_below(&random, 1000);

		if (count > PIECES - done)
			count = PIECES - done;
		fill(&part, &random, pieces + done, count / 2);
		arena_join(&all, &part);
		ck_assert_ptr_null(part.chunks);
		arena_join(&all, &part); /* empty: nothing happens */
		fill(&all, &random, pieces + done + count / 2, count - count / 2);
		done += count;
	}
	expect_filled(pieces, PIECES);
	arena_destroy(&all);
	free(pieces);
}
END_TEST

START_TEST(strings_hold_any_bytes)
{
	struct arena arena = { 0 };
	char *copy = arena_copy_string(&arena, "a\0b\377", 4);

	ck_assert_mem_eq(copy, "a\0b\377", 5);
	ck_assert_str_eq(arena_copy_string(&arena, "", 0), "");
	arena_destroy(&arena);
}
END_TEST

START_TEST(too_much_is_refused)
{
	struct arena arena = { 0 };
	volatile size_t size = SIZE_MAX;

	ck_assert_ptr_null(arena_alloc(&arena, size));
	ck_assert_ptr_null(arena_alloc(&arena, size / 2));
	ck_assert_ptr_nonnull(arena_alloc(&arena, 1));
	ck_assert_ptr_null(arena_alloc(&arena, size - 8));
	ck_assert_ptr_null(arena_copy_string(&arena, "", size));
	arena_destroy(&arena);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("arena");
	TCase *tests = tcase_create("arena");

	tcase_add_test(tests, pieces_do_not_overlap);
	tcase_add_test(tests, joined_memory_stays);
	tcase_add_test(tests, strings_hold_any_bytes);
	tcase_add_test(tests, too_much_is_refused);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
