/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The preallocations of a file and those of a locality group, against models that are arrays. */
#include <string.h>

#include "allocator/preallocation/preallocation_list.h"
#include "seeded_random.h"
#include "unit.h"

#define LOGICAL 512 /* clusters of a file */
#define STEPS 200000

/* With the variable that repeats the run. */
#define must_hold(condition)                                                                                           \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			ck_abort_msg("does not hold (TEST_SEED): %s", #condition);                                     \
	} while (0)

/* For each logical cluster: where it is reserved, and by which preallocation; 0: it is not. */
struct file_model {
	uint64_t position[LOGICAL + 1];
	uint32_t owner[LOGICAL + 1];
	uint64_t served[LOGICAL + 1]; /* position, if it was taken from a front and not returned as served */
	uint32_t served_count;
};

/* All that was taken from the front of a preallocation since is one run. */
static void clear_served(struct preallocation_list *list, struct file_model *model)
{
	uint64_t position = 0;
	uint32_t count = 0, found = 0;

	must_hold(inode_pa_alloc_served(list, &position, &count) == (model->served_count > 0));
	must_hold(count == model->served_count);
	for (uint32_t logical = 0; logical < LOGICAL; logical++) {
		must_hold(!model->served[logical] ||
		          (model->served[logical] >= position && model->served[logical] < position + count));
		found += model->served[logical] != 0;
		model->served[logical] = 0;
	}
	must_hold(found == count);
	model->served_count = 0;
}

static void add_one(struct preallocation_list *list, struct file_model *model, struct random *random, uint32_t number)
{
	uint32_t start = (uint32_t)random_below(random, LOGICAL);
	uint32_t most = 1 + (uint32_t)random_below(random, 64), count = 0;
	uint64_t position = 1 + random_below(random, 1u << 20);

	while (count < most && start + count < LOGICAL && !model->owner[start + count]) {
		model->owner[start + count] = number;
		model->position[start + count] = position + count;
		count++;
	}
	if (!count)
		return;
	must_hold(!preallocation_list_reserve(list, 1));
	clear_served(list, model);
	inode_pa_add(list, &(struct preallocation){ position, start, count });
}

static void take(struct preallocation_list *list, struct file_model *model, uint32_t logical, uint32_t most)
{
	struct preallocation taken = { 0 };
	uint32_t expected = 0, owner = model->owner[logical];

	while (owner && expected < most && logical + expected < LOGICAL && model->owner[logical + expected] == owner)
		expected++;
	if (inode_pa_alloc_front(list, logical, most, &taken)) {
		must_hold(taken.count == most);
		for (uint32_t cluster = 0; cluster < most; cluster++)
			model->served[logical + cluster] = taken.position + cluster;
		model->served_count += most;
	} else {
		clear_served(list, model);
		must_hold(!inode_pa_alloc_any(list, logical, most, &taken));
	}
	must_hold(taken.count == expected);
	must_hold(!taken.count || taken.position == model->position[logical]);
	memset(&model->owner[logical], 0, taken.count * sizeof(*model->owner));
}

static void clip(const struct preallocation_list *list, const struct file_model *model, uint32_t logical)
{
	uint64_t start = 0, end = LOGICAL;
	uint32_t expected_start = logical, expected_end = logical;

	if (model->owner[logical])
		return;
	while (expected_start && !model->owner[expected_start - 1])
		expected_start--;
	while (expected_end < LOGICAL && !model->owner[expected_end])
		expected_end++;
	inode_pa_clip_hole(list, logical, &start, &end);
	must_hold(start == expected_start && end == expected_end);
}

static void compare(const struct preallocation_list *list, const struct file_model *model)
{
	uint32_t reserved = 0, expected = 0;

	for (uint32_t index = 0; index < list->count; index++) {
		const struct preallocation *item = &list->items[index];

		must_hold(item->count);
		must_hold(!index || item[-1].logical + item[-1].count <= item->logical);
		for (uint32_t cluster = 0; cluster < item->count; cluster++)
			must_hold(model->owner[item->logical + cluster] &&
			          model->position[item->logical + cluster] == item->position + cluster);
		reserved += item->count;
	}
	for (uint32_t logical = 0; logical < LOGICAL; logical++)
		expected += model->owner[logical] != 0;
	must_hold(reserved == expected);
}

START_TEST(test_file)
{
	static struct file_model model;
	struct random random = random_start("file windows");
	struct preallocation_list list = { 0 };
	uint32_t next = 0;

	for (uint32_t step = 1; step <= STEPS; step++) {
		uint32_t logical = (uint32_t)random_below(&random, LOGICAL);

		switch (random_below(&random, 8)) {
		case 0:
			add_one(&list, &model, &random, step);
			break;
		case 1:
			clip(&list, &model, logical);
			break;
		case 2:
		case 3:
			take(&list, &model, next = logical, 1 + (uint32_t)random_below(&random, 16));
			break;
		default: /* as a file that grows */
			take(&list, &model, next, 2);
			next = next + 2 < LOGICAL ? next + 2 : 0;
		}
		if (step % 64 == 0)
			compare(&list, &model);
	}
	preallocation_list_destroy(&list);
}
END_TEST

START_TEST(test_place)
{
	/* The goal is [100, 164), and 10 clusters were found. */
	ck_assert_uint_eq(inode_pa_place(100, 64, 100, 4, 10), 100); /* all of the request from the goal's start */
	ck_assert_uint_eq(inode_pa_place(100, 64, 104, 6, 10), 100); /* just so */
	ck_assert_uint_eq(inode_pa_place(100, 64, 105, 6, 10), 105); /* the end would be missing */
	ck_assert_uint_eq(inode_pa_place(100, 64, 150, 6, 10), 150); /* in the middle: where it starts */
	ck_assert_uint_eq(inode_pa_place(100, 64, 154, 6, 10), 154); /* up to the goal's end */
	ck_assert_uint_eq(inode_pa_place(100, 64, 160, 1, 10), 154);
	ck_assert_uint_eq(inode_pa_place(100, 64, 160, 1, 64), 100);
}
END_TEST

/* --- Small files --------------------------------------------------------------------------------------------- */

#define POSITIONS 4096
#define GROUP 1024 /* clusters: no run lies in two groups */

static unsigned int order_of(uint32_t count)
{
	unsigned int order = 0;

	while (count >> (order + 1) && order + 1 < GROUP_PA_ORDERS)
		order++;
	return order;
}

static void drop(void *context, uint64_t position, uint32_t count)
{
	uint8_t *reserved = context;

	for (uint32_t cluster = 0; cluster < count; cluster++) {
		must_hold(reserved[position + cluster]);
		reserved[position + cluster] = 0;
	}
}

static void add_run(struct preallocation_list *list, uint8_t *reserved, struct random *random)
{
	uint32_t start = (uint32_t)random_below(random, POSITIONS), most = 1 + (uint32_t)random_below(random, 600);
	uint32_t count = 0;

	if (random_below(random, 2))
		most = most % 9 + 1;
	while (count < most && start % GROUP + count < GROUP && !reserved[start + count])
		reserved[start + count++] = 1;
	if (!count)
		return;
	must_hold(!preallocation_list_reserve(list, 1));
	group_pa_add(list, (struct preallocation){ .position = start, .count = count }, GROUP);
	group_pa_trim(list, drop, reserved);
}

static void take_run(struct preallocation_list *list, uint8_t *reserved, struct random *random)
{
	uint32_t least = 1 + (uint32_t)random_below(random, 20), most = least + (uint32_t)random_below(random, 20);
	uint64_t goal = random_below(random, POSITIONS), best_distance = UINT64_MAX, best_start = 0;
	unsigned int best_order = UINT32_MAX;
	uint32_t best_count = 0;
	struct preallocation taken;

	for (uint32_t index = 0; index < list->count; index++) {
		struct preallocation run = list->items[index];
		uint64_t distance = run.position > goal ? run.position - goal : goal - run.position;

		if (run.count < least || order_of(run.count) > best_order ||
		    (order_of(run.count) == best_order && distance >= best_distance))
			continue;
		best_order = order_of(run.count);
		best_distance = distance;
		best_start = run.position;
		best_count = run.count;
	}
	if (!group_pa_alloc(list, least, most, goal, &taken)) {
		must_hold(!best_count);
		return;
	}
	must_hold(best_count && taken.position == best_start);
	must_hold(taken.count == (most < best_count ? most : best_count));
	drop(reserved, taken.position, taken.count);
	group_pa_trim(list, drop, reserved);
}

static void compare_runs(const struct preallocation_list *list, const uint8_t *reserved)
{
	static uint8_t seen[POSITIONS + 1];
	uint32_t in_bucket[GROUP_PA_ORDERS] = { 0 };

	memset(seen, 0, sizeof(seen));
	for (uint32_t index = 0; index < list->count; index++) {
		struct preallocation run = list->items[index];

		memset(seen + run.position, 1, run.count);
		must_hold(run.position % GROUP + run.count <= GROUP);
		must_hold(run.position % GROUP == 0 || !reserved[run.position - 1]); /* joined */
		must_hold(++in_bucket[order_of(run.count)] <= GROUP_PA_MOST);
	}
	must_hold(!memcmp(seen, reserved, POSITIONS));
}

START_TEST(test_small_runs)
{
	static uint8_t reserved[POSITIONS + 1];
	struct random random = random_start("small runs");
	struct preallocation_list list = { 0 };

	for (uint32_t step = 0; step < STEPS; step++) {
		if (random_below(&random, 4) == 0)
			add_run(&list, reserved, &random);
		else
			take_run(&list, reserved, &random);
		compare_runs(&list, reserved);
	}
	preallocation_list_destroy(&list);
}
END_TEST

/* Nine runs of one order are one too many: the five newest stay. */
START_TEST(test_trim)
{
	static uint8_t reserved[POSITIONS + 1];
	struct preallocation_list list = { 0 };

	for (uint32_t number = 0; number < 9; number++) {
		memset(reserved + 10 * number, 1, 4);
		ck_assert_int_eq(preallocation_list_reserve(&list, 1), 0);
		group_pa_add(&list, (struct preallocation){ .position = 10 * number, .count = 4 }, GROUP);
		ck_assert_uint_eq(list.count, number + 1);
		if (number < 8)
			group_pa_trim(&list, drop, reserved);
	}
	group_pa_trim(&list, drop, reserved);
	ck_assert_uint_eq(list.count, GROUP_PA_KEPT);
	ck_assert_uint_eq(list.items[0].position, 40);
	for (uint32_t position = 0; position < 90; position++)
		ck_assert_uint_eq(reserved[position], position >= 40 && position % 10 < 4);
	preallocation_list_destroy(&list);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("preallocation_list");
	TCase *tests = tcase_create("preallocation_list");

	tcase_add_test(tests, test_file);
	tcase_add_test(tests, test_place);
	tcase_add_test(tests, test_small_runs);
	tcase_add_test(tests, test_trim);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
