/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Explains how blocks would be found. A child process allocates them, watches the search, reports it and exits. So
 * nothing changes in our process: neither the blocks nor the counters, goals and groups that a search updates.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compare/policies.h"
#include "allocator/group/group.h"
#include "allocator/group/totals.h"
#include "allocator/search/group_search.h"
#include "listing.h"
#include "command/tool.h"
#include "requests.h"
#include "support/io/whole_io.h"
#include "support/run/children.h"
#include "support/text/units.h"
#include "support/vector.h"
#include "words.h"

/* Why a group was passed over, or that blocks were taken from it. */
enum verdict {
	VERDICT_TAKEN,
	VERDICT_NO_RUN, /* the group suited the criterion, but had no suitable free extent */
	VERDICT_CORRUPT,
	VERDICT_FULL,
	VERDICT_DIRECTORIES,
	/* The verdicts from here on have a value, in clusters: */
	VERDICT_LARGEST,
	VERDICT_LONGEST,
	VERDICT_AVERAGE,
	VERDICT_FREE,
};

/* A look at a group, or at several in a row with the same result. */
struct look {
	enum criterion criterion;
	enum verdict verdict;
	uint32_t value;
	uint32_t wanted; /* clusters */
	uint32_t first, last;
};

struct looks {
	struct look *looks;
	size_t count, capacity;
	bool lacks_memory;
};

struct explanation {
	struct ext2mb *mb;
	struct looks looks;
	struct free_search searches[CRITERIA]; /* each criterion's last search */
	uint64_t failures[CRITERIA];           /* of each criterion before this search */
	enum criterion criterion;              /* of the last look */
	uint32_t group;                        /* of the last look */
	bool has_group;                        /* the last look has no verdict yet */
};

/* Merges looks at consecutive groups with the same result. */
static void note(struct looks *looks, const struct look *look)
{
	struct look *last = looks->count ? &looks->looks[looks->count - 1] : NULL;

	if (last && last->criterion == look->criterion && last->verdict == look->verdict &&
	    last->value == look->value && last->wanted == look->wanted && last->last + 1 == look->first) {
		last->last = look->last;
		return;
	}
	if (vector_add(&looks->looks, &looks->count, &looks->capacity, look, sizeof(*look)))
		looks->lacks_memory = true;
}

/* The verdict on a group that was passed over, by its summary. */
static struct look judge(const struct free_search *search, uint32_t number)
{
	const struct geometry *geometry = &search->mb->geometry;
	struct group_summary summary = group_summary_read(&search->mb->groups[number]);
	struct look look = {
		.criterion = search->criterion,
		.wanted = search->wanted,
		.first = number,
		.last = number,
	};

	if (summary.state == GROUP_CORRUPT) {
		look.verdict = VERDICT_CORRUPT;
	} else if (!summary.free_clusters) {
		look.verdict = VERDICT_FULL;
	} else if (search_suits(search, number)) {
		look.verdict = VERDICT_NO_RUN;
	} else if (search->criterion == POWER_OF_TWO && geometry_is_kept_for_directories(geometry, number)) {
		look.verdict = VERDICT_DIRECTORIES;
	} else if (search->look == &look_for_longest) {
		look.verdict = VERDICT_LONGEST;
		look.value = group_longest(&search->mb->groups[number]);
	} else if (search->criterion == POWER_OF_TWO || search->look == &look_for_largest ||
	           search->look == &look_for_long_enough) {
		look.verdict = VERDICT_LARGEST;
		look.value = UINT32_C(1) << summary.largest_order;
	} else if (search->criterion < GOAL_LENGTH_SLOW) {
		look.verdict = VERDICT_AVERAGE;
		look.value = summary.free_clusters / summary.fragments;
	} else {
		look.verdict = VERDICT_FREE;
		look.value = summary.free_clusters;
	}
	return look;
}

/* The search has gone on, so the group that it looked at last was passed over. */
static void pass_over(struct explanation *explanation)
{
	if (!explanation->has_group)
		return;
	struct look look = judge(&explanation->searches[explanation->criterion], explanation->group);

	note(&explanation->looks, &look);
	explanation->has_group = false;
}

static bool is_never_busy(void *context UNUSED, uint32_t group UNUSED)
{
	return false;
}

static void nothing_more(void *context UNUSED, uint32_t group UNUSED)
{
}

/* How often the criterion has failed. */
static uint64_t failures_of(struct ext2mb *mb, enum criterion criterion)
{
	return totals_count(mb, COUNT_CRITERION_FAILURES + criterion);
}

/* Begins an attempt, in which no group has been looked at. */
static void begin(struct explanation *explanation)
{
	explanation->looks.count = 0;
	for (unsigned int criterion = 0; criterion < CRITERIA; criterion++)
		explanation->failures[criterion] = failures_of(explanation->mb, criterion);
}

static void consider(void *context, const struct free_search *search, uint32_t group)
{
	struct explanation *explanation = context;

	pass_over(explanation);
	/* The search began again after preallocations were discarded: only the last attempt is shown. */
	if (search->criterion < explanation->criterion)
		begin(explanation);
	explanation->searches[search->criterion] = *search;
	explanation->criterion = search->criterion;
	explanation->group = group;
	explanation->has_group = true;
}

/* --- Telling ---------------------------------------------------------------------------------------------------- */

static const char *const criterion_names[] = { "power of two", "goal length fast", "best available", "goal length slow",
	                                       "any free" };
_Static_assert(sizeof(criterion_names) / sizeof(*criterion_names) == CRITERIA, "each criterion has a name");

#define REASON_BYTES 96

static const char *const verdict_texts[] = {
	[VERDICT_TAKEN] = "taken",
	[VERDICT_NO_RUN] = "looked through, no run was what is wanted",
	[VERDICT_CORRUPT] = "corrupt",
	[VERDICT_FULL] = "full",
	[VERDICT_DIRECTORIES] = "the first of its flex group, kept for directories",
	[VERDICT_LARGEST] = "largest free buddy of",
	[VERDICT_LONGEST] = "no free extent longer than",
	[VERDICT_AVERAGE] = "average free extent of",
	[VERDICT_FREE] = "free clusters:",
};

static void describe(const struct look *look, char reason[REASON_BYTES])
{
	int bytes = snprintf(reason, REASON_BYTES, "%s", verdict_texts[look->verdict]);

	if (look->verdict >= VERDICT_LARGEST)
		snprintf(reason + bytes, REASON_BYTES - (size_t)bytes, " %" PRIu32, look->value);
}

static void print_look(const struct look *look, const char *note)
{
	char reason[REASON_BYTES];

	describe(look, reason);
	printf("  group%s %" PRIu32, look->first < look->last ? "s" : "", look->first);
	if (look->first < look->last)
		printf("-%" PRIu32, look->last);
	printf(", for %" PRIu32 ": %s%s\n", look->wanted, reason, note);
}

static void put_look(struct json *json, const struct look *look, bool is_seen)
{
	char reason[REASON_BYTES];

	describe(look, reason);
	json_row(json, NULL, JSON_COUNT("first", look->first), JSON_COUNT("last", look->last),
	         JSON_COUNT("wanted", look->wanted), JSON_TEXT("reason", reason), JSON_BOOLEAN("looked_at", is_seen));
}

static void tell_looks(struct json *json, const struct looks *looks, enum criterion criterion, bool is_seen)
{
	for (size_t index = 0; index < looks->count; index++) {
		if (looks->looks[index].criterion != criterion)
			continue;
		if (json)
			put_look(json, &looks->looks[index], is_seen);
		else
			print_look(&looks->looks[index], is_seen ? "" : " (not looked at)");
	}
}

/* Counts the groups that do not suit the criterion and that the search skipped because they are not in the index. */
static errcode_t find_left_out(const struct explanation *explanation, enum criterion criterion, struct looks *left_out)
{
	struct ext2mb *mb = explanation->mb;
	SCOPE_FREE bool *is_seen = calloc(mb->geometry.groups, sizeof(*is_seen));

	if (!is_seen)
		return ENOMEM;
	for (size_t index = 0; index < explanation->looks.count; index++) {
		const struct look *look = &explanation->looks.looks[index];

		for (uint32_t number = look->first; look->criterion == criterion && number <= look->last; number++)
			is_seen[number] = true;
	}
	for (uint32_t number = 0; number < mb->geometry.groups; number++) {
		struct look look = judge(&explanation->searches[criterion], number);

		if (!is_seen[number] && look.verdict != VERDICT_NO_RUN)
			note(left_out, &look);
	}
	return left_out->lacks_memory ? ENOMEM : 0;
}

static errcode_t tell_criterion(struct json *json, const struct explanation *explanation, enum criterion criterion,
                                bool is_in_vain)
{
	SCOPE_FREE struct look *kept = NULL;
	struct looks left_out = { 0 };
	errcode_t error = 0;

	if (criterion < GOAL_LENGTH_SLOW && explanation->mb->is_indexed)
		error = find_left_out(explanation, criterion, &left_out);
	kept = left_out.looks;
	if (json) {
		json_open_object(json, NULL);
		json_members(json, JSON_TEXT("criterion", criterion_names[criterion]),
		             JSON_BOOLEAN("in_vain", is_in_vain));
		json_open_array(json, "groups");
	} else {
		printf("%s: %s\n", criterion_names[criterion], is_in_vain ? "in vain" : "found");
	}
	tell_looks(json, &explanation->looks, criterion, true);
	tell_looks(json, &left_out, criterion, false);
	if (json) {
		json_close_array(json);
		json_close_object(json);
	}
	return error;
}

/* how is NULL, unless no criterion was needed. */
static void tell_taken(struct json *json, const struct ext2mb *mb, const struct ext2mb_extent *extent, const char *how)
{
	uint64_t group =
		extent->count ? geometry_position(&mb->geometry, extent->start) / mb->geometry.clusters_per_group : 0;

	if (json && !extent->count)
		json_string(json, "taken", NULL);
	else if (json)
		json_row(json, "taken", JSON_COUNT("start", extent->start), JSON_COUNT("blocks", extent->count),
		         JSON_COUNT("group", group), JSON_TEXT("how", how ? how : "by a criterion"));
	else if (!extent->count)
		puts("taken: nothing");
	else
		printf("taken: %" PRIu64 " block%s at %" PRIu64 ", group %" PRIu64 "%s%s\n", extent->count,
		       units_plural(extent->count), extent->start, group, how ? ", " : "", how ? how : "");
}

/* --- The search ------------------------------------------------------------------------------------------------- */

/* Allocates, and frees at once. extent->count is 0 if nothing was found. */
static errcode_t search_and_watch(struct explanation *explanation, struct ext2mb_worker *worker,
                                  const struct ext2mb_request *request, struct ext2mb_extent *extent)
{
	const struct contention watch = {
		.is_busy = is_never_busy,
		.has_taken = nothing_more,
		.context = explanation,
		.considers = consider,
	};
	struct ext2mb *mb = explanation->mb;
	const struct geometry *geometry = &mb->geometry;

	contention_simulate(mb, &watch);
	errcode_t error = ext2mb_alloc(worker, request, extent);

	contention_simulate(mb, NULL);
	if (error)
		*extent = (struct ext2mb_extent){ 0 };
	else
		error = ext2mb_give_back(worker, extent->start, extent->count);
	if (error && error != EXT2MB_ET_NO_SPACE)
		return error;
	struct look taken = { .criterion = explanation->criterion, .verdict = VERDICT_TAKEN };

	if (explanation->has_group && extent->count) {
		taken.wanted = explanation->searches[taken.criterion].wanted;
		taken.first = (uint32_t)(geometry_position(geometry, extent->start) / geometry->clusters_per_group);
		taken.last = taken.first;
		/* The best extent may lie in a group that was looked at earlier. */
		if (taken.first != explanation->group)
			pass_over(explanation);
		note(&explanation->looks, &taken);
	} else {
		pass_over(explanation);
	}
	return explanation->looks.lacks_memory ? ENOMEM : 0;
}

static errcode_t explain(struct shell *shell, const struct ext2mb_request *request)
{
	struct ext2mb *mb = shell->filesystem.mb;
	struct explanation explanation = { .mb = mb };
	struct json document = { .stream = stdout };
	struct json *json = shell->is_json ? &document : NULL;
	uint64_t wanted = geometry_to_clusters(&mb->geometry, request->count);
	uint32_t per_group = mb->geometry.clusters_per_group;
	struct ext2mb_extent extent;

	/* For criteria that look at no group: no set that they go through has a member. */
	for (unsigned int criterion = 0; criterion < CRITERIA; criterion++) {
		explanation.searches[criterion] = (struct free_search){
			.mb = mb,
			.wanted = wanted < per_group ? (uint32_t)wanted : per_group,
			.least = 1,
		};
		search_begin_criterion(&explanation.searches[criterion], criterion);
	}
	begin(&explanation);
	errcode_t error = search_and_watch(&explanation, shell->filesystem.worker, request, &extent);

	if (error)
		return error;
	if (json) {
		json_open_object(json, NULL);
		json_open_array(json, "criteria");
	}
	for (unsigned int criterion = 0; criterion < CRITERIA && !error; criterion++) {
		bool is_in_vain = failures_of(mb, criterion) != explanation.failures[criterion];

		if (is_in_vain || (explanation.looks.count && explanation.criterion == criterion))
			error = tell_criterion(json, &explanation, criterion, is_in_vain || !extent.count);
	}
	if (json)
		json_close_array(json);
	tell_taken(json, mb, &extent,
	           explanation.looks.count ? NULL :
	           request->goal           ? "at the goal" :
	                                     "after the last request");
	if (json) {
		json_close_object(json);
		errcode_t output_error = json_end(json);

		error = error ? error : output_error;
	}
	free(explanation.looks.looks);
	return error;
}

static int explain_in_child(struct shell *shell, const struct ext2mb_request *request)
{
	errcode_t error = explain(shell, request);
	errcode_t output_error = flush_output(stdout);

	/* The parent process does not learn which groups the search has found to be corrupt. */
	if (!error && !output_error)
		return shell_tell_corruption(shell);
	if (output_error)
		problem_set(&shell->problem, error ? error : output_error, "standard output", "cannot write");
	else
		problem_set(&shell->problem, shell_explain_policy(shell, error), NULL, "explain");
	return print_problem(&shell->problem);
}

errcode_t request_explain(struct shell *shell)
{
	struct ext2mb_request request = { .struct_bytes = sizeof(request) };
	const struct geometry *geometry = &shell->filesystem.mb->geometry;
	uint64_t most = geometry->end_block - 1;
	errcode_t error =
		words_length(shell->words[1], geometry_cluster_blocks(geometry), most, &request.count, &shell->problem);
	int status;

	if (!error && shell->word_count > 2)
		error = words_number(shell->words[2], 1, most, &request.goal, &shell->problem);
	if (!error)
		error = flush_output(stdout);
	if (error)
		return error;
	pid_t child = children_fork();

	if (child == 0)
		_exit(explain_in_child(shell, &request));
	error = child < 0 ? errno : children_wait(child, &status);
	if (error)
		return error;
	if (WIFSIGNALED(status))
		return problem_set_reason(&shell->problem, ECHILD, NULL, "explain", "signal %d has ended the search",
		                          WTERMSIG(status));
	return WEXITSTATUS(status) ? FAILURE_IS_TOLD : 0;
}
