/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare/tunables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compare/kernel_policy.h"
#include "compare/user_library.h"
#include "allocator/core/allocator.h"
#include "allocator/preallocation/preallocation.h"
#include "allocator/search/stream_goals.h"
#include "support/text/units.h"

/* In the order of enum policy_name, enum ext2mb_normalization less the default, and enum ext2mb_locality likewise. */
static const char *const policies[] = { "ext2mb", "series", "base", NULL };
static const char *const normalizations[] = { "ext2mb", "table", "pow2", "none", NULL };
static const char *const localities[] = { "directory", "thread", "none", NULL };

_Static_assert(POLICY_EXT2MB == 0 && POLICY_SERIES == 1 && POLICY_BASE == 2, "policies");
_Static_assert(EXT2MB_NORMALIZE_EXT2MB == 1 && EXT2MB_NORMALIZE_NONE == 4, "normalizations");
_Static_assert(EXT2MB_LOCALITY_DIRECTORY == 1 && EXT2MB_LOCALITY_NONE == 3, "localities");

/* --- A pair of functions for each ----------------------------------------------------------------------------- */

static uint64_t get_policy(const struct ext2mb *mb UNUSED, const struct policy_options *options)
{
	return options->policy;
}

static const char *user_policy_name(const struct policy_options *options)
{
	return options->policy == POLICY_USER ? user_library_name(options->user) : NULL;
}

static void set_policy(struct policy_options *options, uint64_t value)
{
	options->policy = (enum policy_name)value;
}

static uint64_t get_normalization(const struct ext2mb *mb, const struct policy_options *options UNUSED)
{
	return mb->prealloc->normalization - EXT2MB_NORMALIZE_EXT2MB;
}

static void set_normalization(struct policy_options *options, uint64_t value)
{
	options->allocator.normalization = (enum ext2mb_normalization)(EXT2MB_NORMALIZE_EXT2MB + value);
}

static uint64_t get_locality(const struct ext2mb *mb, const struct policy_options *options UNUSED)
{
	return mb->prealloc->locality - EXT2MB_LOCALITY_DIRECTORY;
}

static void set_locality(struct policy_options *options, uint64_t value)
{
	options->allocator.locality = (enum ext2mb_locality)(EXT2MB_LOCALITY_DIRECTORY + value);
}

static uint64_t get_streams(const struct ext2mb *mb, const struct policy_options *options UNUSED)
{
	return mb->goals->count;
}

static void set_streams(struct policy_options *options, uint64_t value)
{
	options->allocator.streams = (uint32_t)value;
}

static uint64_t get_stripe(const struct ext2mb *mb, const struct policy_options *options UNUSED)
{
	return mb->stripe.blocks;
}

static void set_stripe(struct policy_options *options, uint64_t value)
{
	options->allocator.stripe_blocks = value ? (uint32_t)value : EXT2MB_NO_STRIPE;
}

static uint64_t get_optimize_scan(const struct ext2mb *mb, const struct policy_options *options UNUSED)
{
	return atomic_load(&mb->is_indexed);
}

static void set_optimize_scan(struct policy_options *options, uint64_t value)
{
	options->allocator.optimize_scan = value ? EXT2MB_SCAN_INDEXED : EXT2MB_SCAN_LINEAR;
}

static uint64_t get_stream_req(const struct ext2mb *mb, const struct policy_options *options UNUSED)
{
	return mb->prealloc->small_file_blocks;
}

static void set_stream_req(struct policy_options *options, uint64_t value)
{
	options->allocator.small_file_blocks = (uint32_t)value;
}

static uint64_t get_group_prealloc(const struct ext2mb *mb, const struct policy_options *options UNUSED)
{
	return geometry_to_blocks(&mb->geometry, mb->prealloc->group_clusters);
}

static void set_group_prealloc(struct policy_options *options, uint64_t value)
{
	options->allocator.group_preallocation_blocks = (uint32_t)value;
}

static struct search_limits *limits_of(struct policy_options *options)
{
	if (!options->has_limits)
		options->limits = (struct search_limits)SEARCH_LIMITS_DEFAULT;
	options->has_limits = true;
	return &options->limits;
}

/* A member of struct search_limits. */
#define LIMIT(name, member)                                                                                            \
	static uint64_t get_##name(const struct ext2mb *mb, const struct policy_options *options)                      \
	{                                                                                                              \
		(void)options;                                                                                         \
		return mb->policy.limits.member;                                                                       \
	}                                                                                                              \
	static void set_##name(struct policy_options *options, uint64_t value)                                         \
	{                                                                                                              \
		limits_of(options)->member = (uint32_t)value;                                                          \
	}

LIMIT(max_to_scan, most_to_scan)
LIMIT(min_to_scan, least_to_scan)
LIMIT(order2_req, least_power_of_two)
LIMIT(trim_order, most_trimmed_orders)

/* Tunables that our policy does not use have the kernel's default. */
static uint64_t get_linear_groups(const struct ext2mb *mb, const struct policy_options *options UNUSED)
{
	return kernel_policy_of(mb) ? kernel_policy_of(mb)->linear_groups : 0;
}

static void set_linear_groups(struct policy_options *options, uint64_t value)
{
	options->linear_groups = (uint32_t)value;
}

static uint64_t get_prefetch(const struct ext2mb *mb, const struct policy_options *options UNUSED)
{
	return kernel_read_ahead(mb);
}

static void set_prefetch(struct policy_options *options, uint64_t value)
{
	options->read_ahead = (uint32_t)value;
}

static uint64_t get_prefetch_limit(const struct ext2mb *mb, const struct policy_options *options UNUSED)
{
	return kernel_read_ahead_most(mb);
}

static void set_prefetch_limit(struct policy_options *options, uint64_t value)
{
	options->read_ahead_most = (uint32_t)value;
}

/* --- The table -------------------------------------------------------------------------------------------------- */

static const char no_read_ahead[] = "the policy ext2mb does not read ahead, all others at most all groups";

#define NUMBER(function) .get = get_##function, .set = set_##function, .maximum = UINT32_MAX

const struct tunable all_tunables[] = {
	{ .name = "policy", .get = get_policy, .set = set_policy, .words = policies, .text = user_policy_name },
	{ .name = "normalization", .get = get_normalization, .set = set_normalization, .words = normalizations },
	{ .name = "locality", .get = get_locality, .set = set_locality, .words = localities },
	{ .name = "streams",
	  NUMBER(streams),
	  .minimum = 1,
	  .limit = "base has one, all others at most one for every four groups" },
	{ .name = "stripe",
	  .get = get_stripe,
	  .set = set_stripe,
	  .maximum = UINT32_MAX - 1,
	  .limit = "a stripe is whole clusters and at most a group" },
	{ .name = "mb_optimize_scan",
	  .get = get_optimize_scan,
	  .set = set_optimize_scan,
	  .maximum = 1,
	  .is_live = true },
	{ .name = "mb_stream_req", NUMBER(stream_req), .minimum = 1 },
	{ .name = "mb_group_prealloc",
	  NUMBER(group_prealloc),
	  .minimum = 1,
	  .limit = "it is whole stripes, at least 32 clusters and at most a group" },
	{ .name = "mb_max_to_scan", NUMBER(max_to_scan) },
	{ .name = "mb_min_to_scan", NUMBER(min_to_scan) },
	{ .name = "mb_order2_req", NUMBER(order2_req) },
	{ .name = "mb_best_avail_max_trim_order", NUMBER(trim_order) },
	{ .name = "mb_max_linear_groups", NUMBER(linear_groups), .limit = "the policy ext2mb has none" },
	{ .name = "mb_prefetch", NUMBER(prefetch), .minimum = 1, .limit = no_read_ahead },
	{ .name = "mb_prefetch_limit", NUMBER(prefetch_limit), .minimum = 1, .limit = no_read_ahead },
	{ .name = "mb_stats", .refusal = "this allocator always counts" },
	{ 0 },
};

#define VALUE_BYTES 64
_Static_assert(sizeof(all_tunables) / sizeof(*all_tunables) <= POLICY_MOST_TUNABLES,
               "policy_options has room for each");

const struct tunable *tunable_find(const char *name)
{
	for (const struct tunable *tunable = all_tunables; tunable->name; tunable++)
		if (strcmp(tunable->name, name) == 0)
			return tunable;
	return NULL;
}

bool tunable_is_set(const struct tunable *tunable, const struct policy_options *options)
{
	return options->tunables_set >> (tunable - all_tunables) & 1;
}

static errcode_t refuse(struct problem *problem, const char *text, const char *why)
{
	return problem_set_reason(problem, EINVAL, NULL, "wrong argument", "%s: %s", text, why);
}

errcode_t tunable_read(const struct tunable *tunable, const char *text, uint64_t *value, struct problem *problem)
{
	if (!tunable->get)
		return problem_set_reason(problem, EOPNOTSUPP, NULL, tunable->name, "%s", tunable->refusal);
	if (!tunable->words) {
		if (!units_parse_number(text, tunable->minimum, tunable->maximum, value))
			return 0;
		return problem_set_reason(problem, EINVAL, NULL, "wrong argument",
		                          "%s: it is not a number from %" PRIu64 " to %" PRIu64, text, tunable->minimum,
		                          tunable->maximum);
	}
	for (*value = 0; tunable->words[*value]; ++*value)
		if (strcmp(tunable->words[*value], text) == 0)
			return 0;
	return refuse(problem, text, tunable->words == policies ? "there is no such policy" : "there is no such value");
}

void tunable_set(const struct tunable *tunable, struct policy_options *options, uint64_t value)
{
	size_t index = (size_t)(tunable - all_tunables);

	tunable->set(options, value);
	options->tunables_set |= UINT64_C(1) << index;
	options->tunable_values[index] = value;
}

/* Writes a number, a word, or a special name. */
static void write_value(const struct tunable *tunable, const struct policy_options *options, uint64_t value,
                        char text[VALUE_BYTES])
{
	const char *word = tunable->words ? tunable->words[value] : NULL;

	if (tunable->words && !word)
		word = tunable->text(options);
	if (word)
		snprintf(text, VALUE_BYTES, "%s", word);
	else
		snprintf(text, VALUE_BYTES, "%" PRIu64, value);
}

errcode_t tunable_verify(const struct tunable *tunable, const struct ext2mb *mb, const struct policy_options *options,
                         struct problem *problem)
{
	uint64_t had = tunable->get(mb, options), value = options->tunable_values[tunable - all_tunables];
	char wanted_text[VALUE_BYTES], had_text[VALUE_BYTES];

	if (had == value)
		return 0;
	write_value(tunable, options, value, wanted_text);
	write_value(tunable, options, had, had_text);
	return problem_set_reason(problem, EINVAL, NULL, tunable->name, "%s cannot be had, it would be %s: %s",
	                          wanted_text, had_text, tunable->limit ? tunable->limit : "another option says so");
}

errcode_t tunables_verify(const struct ext2mb *mb, const struct policy_options *options, struct problem *problem)
{
	errcode_t error = 0;

	for (const struct tunable *tunable = all_tunables; tunable->name && !error; tunable++)
		if (tunable_is_set(tunable, options))
			error = tunable_verify(tunable, mb, options, problem);
	return error;
}
