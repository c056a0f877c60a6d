/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands that show the groups and their index: mb_groups, mb_structs, orders, goals, check. */
#include <inttypes.h>
#include <stdio.h>

#include "compare/kernel_forms.h"
#include "allocator/core/allocator.h"
#include "allocator/group/group_index.h"
#include "allocator/group/inode_group.h"
#include "allocator/search/stream_goals.h"
#include "listing.h"
#include "requests.h"
#include "words.h"

errcode_t request_mb_groups(struct shell *shell)
{
	struct ext2mb *mb = shell->filesystem.mb;
	struct group_range range;
	errcode_t error = words_range(shell->word_count > 1 ? shell->words[1] : NULL, mb->geometry.groups, &range,
	                              &shell->problem);

	if (error)
		return error;
	if (!shell->is_json)
		return kernel_groups_print(mb, range.first, range.end, stdout);
	struct json json = { .stream = stdout };

	error = kernel_groups_write(mb, range.first, range.end, &json, NULL);
	errcode_t output_error = json_end(&json);
	return error ? error : output_error;
}

static errcode_t load_all_inodes(struct ext2mb *mb)
{
	for (uint32_t number = 0; number < mb->geometry.groups; number++) {
		struct lock *lock = &mb->groups[number].inodes.lock;

		lock_wait(lock);
		errcode_t error = inode_group_load(mb, number);
		lock_release(lock);
		if (error && error != EXT2MB_ET_CORRUPT_GROUP)
			return error;
	}
	return 0;
}

errcode_t request_check(struct shell *shell)
{
	struct filesystem *filesystem = &shell->filesystem;
	struct ext2mb *mb = filesystem->mb;
	char why[256] = "";
	errcode_t error = kernel_groups_load(mb);

	if (!error)
		error = load_all_inodes(mb);
	if (!error)
		error = ext2mb_check(mb, why, sizeof(why));
	if (error && *why)
		return problem_set_reason(&shell->problem, error, place_shown(&filesystem->place), "check", "%s", why);
	if (error)
		return error;
	/* `check` reports all damage, also what the user has been told before. */
	filesystem->corrupt_groups = 0;
	const char *result = mb->corrupt_groups ? "damaged" : "clean";

	printf(shell->is_json ? "{ \"check\": \"%s\" }\n" : "%s\n", result);
	return 0;
}

errcode_t request_mb_structs(struct shell *shell)
{
	return listing_kernel_form(shell->is_json, KERNEL_MB_STRUCTS_SUMMARY, shell->filesystem.mb);
}

static errcode_t list_orders(struct shell *shell)
{
	static const struct column columns[] = {
		{ "order", 5 }, { "clusters", 8 }, { "by_largest", 10 }, { "by_average", 10 }, { 0 },
	};
	struct ext2mb *mb = shell->filesystem.mb;
	struct listing listing;

	listing_begin(&listing, shell->is_json, columns);
	for (unsigned int order = 0; order < mb->orders; order++)
		listing_row(&listing, (const struct cell[]){
					      NUMBER_CELL(order),
					      NUMBER_CELL(UINT64_C(1) << order),
					      NUMBER_CELL(group_index_count(mb, INDEX_LARGEST, order)),
					      NUMBER_CELL(group_index_count(mb, INDEX_AVERAGE, order)),
				      });
	return listing_end(&listing);
}

/* Prints the groups of a set; "3-5" stands for three groups. */
static void print_members(struct ext2mb *mb, enum index_kind kind, unsigned int order, const char *heading)
{
	uint32_t groups = mb->geometry.groups;
	uint32_t first = 0;

	fputs(heading, stdout);
	for (uint32_t number = 0; number < groups; number++) {
		if (!mb->policy.index->has(mb, kind, order, number)) {
			first = number + 1;
			continue;
		}
		if (number + 1 < groups && mb->policy.index->has(mb, kind, order, number + 1))
			continue;
		printf(" %" PRIu32, first);
		if (first < number)
			printf("-%" PRIu32, number);
	}
	putchar('\n');
}

static void put_members(struct json *json, struct ext2mb *mb, enum index_kind kind, unsigned int order, const char *key)
{
	json_open_array(json, key);
	for (uint32_t number = 0; number < mb->geometry.groups; number++)
		if (mb->policy.index->has(mb, kind, order, number))
			json_unsigned(json, NULL, number);
	json_close_array(json);
}

static errcode_t list_order(struct shell *shell, unsigned int order)
{
	struct ext2mb *mb = shell->filesystem.mb;
	struct json json = { .stream = stdout };

	if (!shell->is_json) {
		print_members(mb, INDEX_LARGEST, order, "by_largest:");
		print_members(mb, INDEX_AVERAGE, order, "by_average:");
		return 0;
	}
	json_open_row(&json, NULL);
	json_unsigned(&json, "order", order);
	put_members(&json, mb, INDEX_LARGEST, order, "by_largest");
	put_members(&json, mb, INDEX_AVERAGE, order, "by_average");
	json_close_object(&json);
	return json_end(&json);
}

errcode_t request_orders(struct shell *shell)
{
	struct ext2mb *mb = shell->filesystem.mb;
	uint64_t order = 0;
	errcode_t error =
		shell->word_count > 1 ? words_number(shell->words[1], 0, mb->orders - 1, &order, &shell->problem) : 0;

	if (!error)
		error = kernel_groups_load(mb);
	if (error)
		return error;
	return shell->word_count > 1 ? list_order(shell, (unsigned int)order) : list_orders(shell);
}

errcode_t request_goals(struct shell *shell)
{
	static const struct column columns[] = { { "goal", 5 }, { "group", 10 }, { 0 } };
	struct ext2mb *mb = shell->filesystem.mb;
	struct listing listing;

	listing_begin(&listing, shell->is_json, columns);
	for (uint32_t goal = 0; goal < mb->goals->count; goal++)
		listing_row(&listing, (const struct cell[]){
					      NUMBER_CELL(goal),
					      NUMBER_CELL(mb->policy.goals->load(mb, goal).group),
				      });
	return listing_end(&listing);
}
