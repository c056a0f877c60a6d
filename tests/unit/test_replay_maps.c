/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares a replay's state of files and blocks with arrays that have a place for each block. */
#include <string.h>

#include "support/random.h"
#include "simulate/replay/file_runs.h"
#include "simulate/replay/traced_blocks.h"
#include "unit.h"

#define BLOCKS 200
#define ROUNDS 40000

struct model {
	uint64_t physical[BLOCKS]; /* 0: a hole */
	bool is_ahead[BLOCKS];
};

static void compare(const struct file_runs *runs, const struct model *model)
{
	uint64_t blocks = 0, extents = 0, next = 0;
	struct model found = { 0 };

	for (size_t index = 0; index < runs->count; index++) {
		const struct file_run *run = &runs->list[index];

		ck_assert(run->count && run->logical + run->count <= BLOCKS);
		for (uint32_t block = 0; block < run->count; block++) {
			ck_assert_uint_eq(found.physical[run->logical + block], 0);
			found.physical[run->logical + block] = run->physical + block;
			found.is_ahead[run->logical + block] = run->is_ahead;
		}
		if (index) {
			const struct file_run *before = run - 1;

			ck_assert(before->logical + before->count <= run->logical);
			ck_assert(before->logical + before->count < run->logical ||
			          before->physical + before->count != run->physical ||
			          before->is_ahead != run->is_ahead);
		}
	}
	ck_assert_mem_eq(&found, model, sizeof(found));
	for (uint32_t block = 0; block < BLOCKS; block++) {
		blocks += model->physical[block] && !model->is_ahead[block];
		if (model->physical[block] && model->physical[block] != next)
			extents++;
		next = model->physical[block] ? model->physical[block] + 1 : next;
	}
	ck_assert_uint_eq(runs->blocks, blocks);
	ck_assert_uint_eq(file_runs_extents(runs, 0, BLOCKS), extents);
}

static void add(struct file_runs *runs, struct model *model, uint64_t *random)
{
	uint32_t logical = random_below(random, BLOCKS), start, end;

	if (!file_runs_hole(runs, logical, &start, &end)) {
		ck_assert_uint_ne(model->physical[logical], 0);
		return;
	}
	ck_assert(start <= logical && end > logical);
	for (uint32_t block = start; block < end && block < BLOCKS; block++)
		ck_assert_uint_eq(model->physical[block], 0);
	if (end > BLOCKS)
		end = BLOCKS;
	const struct file_run run = {
		.logical = logical,
		.count = 1 + random_below(random, end - logical),
		/* Often what continues another one. */
		.physical = 1000 + logical + (random_below(random, 3) ? 0 : 500 * random_below(random, 3)),
		.is_ahead = random_below(random, 3) == 0,
	};
	ck_assert_int_eq(file_runs_add(runs, &run), 0);
	for (uint32_t block = 0; block < run.count; block++) {
		model->physical[logical + block] = run.physical + block;
		model->is_ahead[logical + block] = run.is_ahead;
	}
}

START_TEST(files_have_their_blocks)
{
	struct file_runs runs = { 0 };
	struct model model = { 0 };
	uint64_t random = 1;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint32_t logical = random_below(&random, BLOCKS),
			 end = logical + 1 + random_below(&random, BLOCKS - logical);
		unsigned int action = random_below(&random, 8);

		if (action == 0) {
			ck_assert_int_eq(file_runs_confirm(&runs, logical, end), 0);
			memset(&model.is_ahead[logical], 0, end - logical);
		} else if (action == 1) {
			bool found = true;

			end = logical + 1 + (end - logical) / 4;
			while (found) {
				struct file_run run;

				ck_assert_int_eq(file_runs_remove(&runs, logical, end, &run), 0);
				found = run.count;
				for (uint32_t block = 0; block < run.count; block++) {
					ck_assert(run.logical >= logical && run.logical + run.count <= end);
					ck_assert_uint_eq(model.physical[run.logical + block], run.physical + block);
					model.physical[run.logical + block] = 0;
					model.is_ahead[run.logical + block] = false;
				}
			}
			for (uint32_t block = logical; block < end; block++)
				ck_assert_uint_eq(model.physical[block], 0);
		} else {
			add(&runs, &model, &random);
		}
		/* Removing cuts, and what was cut needs not be joined again. */
		if (action != 1)
			compare(&runs, &model);
	}
	free(runs.list);
}
END_TEST

struct place {
	uint64_t file; /* 0: nobody */
	bool is_data;
	uint64_t place;
};

START_TEST(blocks_are_found)
{
	static char files[4];
	struct traced_blocks blocks = { 0 };
	struct place model[BLOCKS] = { { 0 } };
	uint64_t random = 1;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint64_t start = random_below(&random, BLOCKS),
			 count = 1 + random_below(&random, BLOCKS - (uint32_t)start);
		uint64_t file = 1 + random_below(&random, 3);
		bool found = true;

		count = 1 + count / 8;
		const struct traced_run run = {
			.start = start,
			.count = count,
			.file = (struct replay_file *)(void *)&files[file],
			.is_data = random_below(&random, 2),
			.place = random_below(&random, 4) ? start + 7 : 0,
		};
		bool is_free = true;

		for (uint64_t block = start; block < start + count; block++)
			is_free = is_free && !model[block].file;
		const struct traced_run *seen = traced_blocks_find(&blocks, start, count);
		ck_assert(is_free == !seen);
		ck_assert(!seen || (seen->start < start + count && seen->start + seen->count > start));
		if (is_free) {
			ck_assert_int_eq(traced_blocks_add(&blocks, &run), 0);
			for (uint64_t block = 0; block < count; block++)
				model[start + block] =
					(struct place){ file, run.is_data,
					                run.is_data || run.place ? run.place + block : 0 };
			continue;
		}
		while (found) {
			struct traced_run out;

			ck_assert_int_eq(traced_blocks_remove(&blocks, start, count, &out), 0);
			found = out.count;
			for (uint64_t block = 0; block < out.count; block++) {
				struct place *place = &model[out.start + block];

				ck_assert(out.start >= start && out.start + out.count <= start + count);
				ck_assert(out.file == (struct replay_file *)(void *)&files[place->file]);
				ck_assert(out.is_data == place->is_data);
				ck_assert_uint_eq(out.is_data || out.place ? out.place + block : 0, place->place);
				place->file = 0;
			}
		}
		ck_assert_ptr_null(traced_blocks_find(&blocks, start, count));
	}
	ck_assert_uint_gt(blocks.runs, 0);
	traced_blocks_clear(&blocks);
	ck_assert_ptr_null(traced_blocks_find(&blocks, 0, BLOCKS));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("replay maps");
	TCase *cases = tcase_create("replay maps");

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, files_have_their_blocks);
	tcase_add_test(cases, blocks_are_found);
	return run_suite(suite);
}
