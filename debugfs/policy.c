// SPDX-License-Identifier: GPL-2.0-or-later
/* The policy and what can be set, by the kernel's names where it has it too. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ext2fs/core/allocator.h"
#include "ext2fs/preallocation/preallocation.h"
#include "ext2fs/search/group_search.h"
#include "ext2fs/search/stream_goals.h"
#include "listing.h"
#include "requests.h"
#include "words.h"

/* In the order of enum policy_name, enum ext2mb_normalization less the default, and enum ext2mb_locality likewise. */
static const char *const policies[] = { "ext2mb", "series", "base", NULL };
static const char *const normalizations[] = { "ext2mb", "table", "pow2", "none", NULL };
static const char *const localities[] = { "directory", "thread", "none", NULL };

_Static_assert(POLICY_EXT2MB == 0 && POLICY_SERIES == 1 && POLICY_BASE == 2, "policies");
_Static_assert(EXT2MB_NORMALIZE_EXT2MB == 1 && EXT2MB_NORMALIZE_NONE == 4, "normalizations");
_Static_assert(EXT2MB_LOCALITY_DIRECTORY == 1 && EXT2MB_LOCALITY_NONE == 3, "localities");

static uint64_t optimize_scan(const struct shell *shell)
{
	return atomic_load(&shell->filesystem.mb->is_indexed);
}

static uint64_t stream_req(const struct shell *shell)
{
	return shell->filesystem.mb->prealloc->small_file_blocks;
}

static uint64_t group_prealloc(const struct shell *shell)
{
	const struct ext2mb *mb = shell->filesystem.mb;

	return geometry_to_blocks(&mb->geometry, mb->prealloc->group_clusters);
}

static uint64_t stripe(const struct shell *shell)
{
	return shell->filesystem.mb->stripe.blocks;
}

static uint64_t streams(const struct shell *shell)
{
	return shell->filesystem.mb->goals->count;
}

static uint64_t policy(const struct shell *shell)
{
	return shell->policy.policy;
}

static uint64_t normalization(const struct shell *shell)
{
	return shell->filesystem.mb->prealloc->normalization - EXT2MB_NORMALIZE_EXT2MB;
}

static uint64_t locality(const struct shell *shell)
{
	return shell->filesystem.mb->prealloc->locality - EXT2MB_LOCALITY_DIRECTORY;
}

/* Each takes a value of the row's words or range. */
static void set_policy(struct policy_options *options, uint64_t value)
{
	options->policy = (enum policy_name)value;
}

static void set_optimize_scan(struct policy_options *options, uint64_t value)
{
	options->allocator.optimize_scan = value ? EXT2MB_SCAN_INDEXED : EXT2MB_SCAN_LINEAR;
}

static void set_stream_req(struct policy_options *options, uint64_t value)
{
	options->allocator.small_file_blocks = (uint32_t)value;
}

static void set_group_prealloc(struct policy_options *options, uint64_t value)
{
	options->allocator.group_preallocation_blocks = (uint32_t)value;
}

static void set_stripe(struct policy_options *options, uint64_t value)
{
	options->allocator.stripe_blocks = value ? (uint32_t)value : EXT2MB_NO_STRIPE;
}

static void set_streams(struct policy_options *options, uint64_t value)
{
	options->allocator.streams = (uint32_t)value;
}

static void set_normalization(struct policy_options *options, uint64_t value)
{
	options->allocator.normalization = (enum ext2mb_normalization)(EXT2MB_NORMALIZE_EXT2MB + value);
}

static void set_locality(struct policy_options *options, uint64_t value)
{
	options->allocator.locality = (enum ext2mb_locality)(EXT2MB_LOCALITY_DIRECTORY + value);
}

static const struct tunable {
	const char *name;
	uint64_t (*get)(const struct shell *shell); /* NULL: it is fixed, or not modelled */
	void (*set)(struct policy_options *options, uint64_t value);
	const char *const *words;
	uint64_t minimum, maximum;
	uint64_t fixed; /* the value; 0: it is not modelled */
} tunables[] = {
	{ .name = "policy", .get = policy, .set = set_policy, .words = policies },
	{ .name = "normalization", .get = normalization, .set = set_normalization, .words = normalizations },
	{ .name = "locality", .get = locality, .set = set_locality, .words = localities },
	{ .name = "streams", .get = streams, .set = set_streams, .minimum = 1, .maximum = UINT32_MAX },
	{ .name = "stripe", .get = stripe, .set = set_stripe, .maximum = UINT32_MAX - 1 },
	{ .name = "mb_optimize_scan", .get = optimize_scan, .set = set_optimize_scan, .maximum = 1 },
	{ .name = "mb_stream_req", .get = stream_req, .set = set_stream_req, .minimum = 1, .maximum = UINT32_MAX },
	{ .name = "mb_group_prealloc", .get = group_prealloc, .set = set_group_prealloc, .minimum = 1,
	  .maximum = UINT32_MAX },
	{ .name = "mb_max_to_scan", .fixed = SEARCH_MOST_TO_SCAN },
	{ .name = "mb_min_to_scan", .fixed = SEARCH_LEAST_TO_SCAN },
	{ .name = "mb_order2_req", .fixed = SEARCH_LEAST_POWER_OF_TWO },
	{ .name = "mb_best_avail_max_trim_order", .fixed = SEARCH_MOST_TRIMMED_ORDERS },
	{ .name = "mb_max_linear_groups" },
	{ .name = "mb_prefetch" },
	{ .name = "mb_prefetch_limit" },
	{ .name = "mb_stats" },
};

#define TUNABLES (sizeof(tunables) / sizeof(*tunables))

static errcode_t list(struct shell *shell)
{
	static const struct column columns[] = { { "name", -28 }, { "value", -9 }, { "remark", -12 }, { 0 } };
	struct listing listing;

	listing_begin(&listing, shell->is_json, columns);
	for (size_t index = 0; index < TUNABLES; index++) {
		const struct tunable *tunable = &tunables[index];
		uint64_t value = tunable->get ? tunable->get(shell) : tunable->fixed;
		bool is_modelled = tunable->get || tunable->fixed;

		listing_row(&listing, (const struct cell[]){
			TEXT_CELL(tunable->name),
			{ .text = !is_modelled ? "-" : tunable->words ? tunable->words[value] : NULL, .number = value },
			TEXT_CELL(!is_modelled ? "not modelled" : tunable->get ? "can be set" : "fixed"),
		});
	}
	return listing_end(&listing);
}

static errcode_t read_value(const struct tunable *tunable, const char *text, uint64_t *value, struct problem *problem)
{
	if (!tunable->words)
		return words_number(text, tunable->minimum, tunable->maximum, value, problem);
	for (*value = 0; tunable->words[*value]; ++*value)
		if (strcmp(tunable->words[*value], text) == 0)
			return 0;
	return words_refuse(problem, text,
	                    tunable->get == policy ? "there is no such policy" : "there is no such value");
}

/* Attaches another allocator, which must have the value: it may round it, or have none for this filesystem. */
static errcode_t attach(struct shell *shell, const struct tunable *tunable, uint64_t value, struct problem *problem)
{
	errcode_t error = filesystem_attach(&shell->filesystem, &shell->policy);

	if (error)
		return problem_set(problem, error, NULL, "policy");
	uint64_t had = tunable->get(shell);

	if (had == value)
		return 0;
	return problem_set_reason(problem, EINVAL, NULL, tunable->name,
	                          "%" PRIu64 " cannot be had with this filesystem and policy: it would be %" PRIu64,
	                          value, had);
}

/* What is set for the whole of an allocator needs another one, and what the old one has not written would be lost. */
static errcode_t apply(struct shell *shell, const struct tunable *tunable, uint64_t value, struct problem *problem)
{
	struct filesystem *filesystem = &shell->filesystem;
	struct policy_options options = shell->policy;

	if (tunable->get != optimize_scan && filesystem->is_changed)
		return problem_set_reason(problem, EBUSY, NULL, "policy", "there are changes: sync first");
	tunable->set(&options, value);
	if (tunable->get == optimize_scan) {
		ext2mb_set_optimize_scan(filesystem->mb, (int)value);
		shell->policy = options;
		return 0;
	}
	const struct policy_options before = shell->policy;

	shell->policy = options;
	errcode_t error = attach(shell, tunable, value, problem);

	if (error) {
		/* As it was, or closed if that cannot be; what is said is why the new one could not be had. */
		shell->policy = before;
		errcode_t second = filesystem_attach(filesystem, &shell->policy);

		if (second)
			second = filesystem_close(filesystem, problem);
		error = second ? second : error;
	}
	shell->counted = (struct ext2mb_stats){ .struct_bytes = sizeof(shell->counted) };
	filesystem->corrupt_groups = 0;
	return error;
}

errcode_t request_policy(struct shell *shell, int count, char **words, struct problem *problem)
{
	if (count == 1)
		return list(shell);
	SCOPE_FREE char *name = strdup(words[1]);
	if (!name)
		return ENOMEM;
	char *text = strchr(name, '=');
	const struct tunable *tunable = tunables;
	uint64_t value;

	/* A name alone is a policy's. */
	if (text)
		*text++ = '\0';
	while (text && tunable < tunables + TUNABLES && strcmp(tunable->name, name))
		tunable++;
	if (tunable == tunables + TUNABLES)
		return words_refuse(problem, name, "there is no such tunable");
	if (!tunable->get)
		return problem_set_reason(problem, EOPNOTSUPP, NULL, tunable->name,
		                          tunable->fixed ? "it is fixed in this allocator" :
		                                           "it is not modelled by this allocator");
	errcode_t error = read_value(tunable, text ? text : name, &value, problem);

	return error ? error : apply(shell, tunable, value, problem);
}
