/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/run/configuration.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "compare/user_library.h"
#include "support/text/units.h"

#define PATCHES 17
#define STRIPE_BLOCKS 64 /* 256 KiB: 4 disks of data with chunks of 64 KiB */
#define MOST_CONFIGURATIONS (PATCHES + 3)

struct list {
	struct configuration *configurations;
	size_t count;
};

/* The scan follows the name, if it is not the default. */
__attribute__((format(printf, 4, 5))) static void add(struct list *list, const struct policy_options *options,
                                                      enum way way, const char *format, ...)
{
	static const char *const scans[] = { "", ", linear", ", indexed" };
	struct configuration *configuration = &list->configurations[list->count++];
	char name[CONFIGURATION_NAME_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	configuration->options = *options;
	configuration->way = way;
	snprintf(configuration->name, sizeof(configuration->name), "%s%s", name,
	         scans[options->allocator.optimize_scan]);
}

static uint32_t choices_of_patch(uint64_t patch)
{
	uint32_t choices = 0;

	for (const struct choice *choice = all_choices; choice->name; choice++)
		if (choice->patch == patch)
			choices |= choice->choice;
	return choices;
}

static errcode_t parse_patches(const char *text, uint32_t *choices)
{
	SCOPE_FREE char *first = strdup(text);
	uint64_t from, to;

	if (!first)
		return ENOMEM;
	char *dash = strchr(first, '-');
	if (dash)
		*dash = '\0';
	if (units_parse_number(first, 1, PATCHES, &from))
		return EINVAL;
	to = from;
	if (dash && units_parse_number(dash + 1, from, PATCHES, &to))
		return EINVAL;
	for (uint64_t patch = from; patch <= to; patch++)
		*choices |= choices_of_patch(patch);
	return 0;
}

static errcode_t parse_choice(const char *text, uint32_t *choices)
{
	for (const struct choice *choice = all_choices; choice->name; choice++) {
		if (strcmp(choice->name, text) == 0) {
			*choices |= choice->choice;
			return 0;
		}
	}
	return parse_patches(text, choices);
}

errcode_t configuration_parse_choices(const char *text, uint32_t *choices)
{
	SCOPE_FREE char *list = strdup(text);
	char *rest = list;
	char *word;

	if (!list)
		return ENOMEM;
	while ((word = strsep(&rest, ","))) {
		errcode_t error = parse_choice(word, choices);

		if (error)
			return error;
	}
	return 0;
}

static const char *name_of(const struct policy_options *options)
{
	enum policy_name policy = options->policy;

	if (policy == POLICY_USER)
		return user_library_name(options->user);
	return policy == POLICY_BASE ? "base" : policy == POLICY_SERIES ? "series" : "ext2mb";
}

static enum way way_of(const struct policy_options *options)
{
	if (options->policy == POLICY_USER || options->policy == POLICY_EXT2MB)
		return WAY_OURS;
	return options->policy == POLICY_BASE ? WAY_BASE : WAY_SERIES;
}

static void list_one(struct list *list, const struct policy_options *options)
{
	bool is_whole = !options->choices_added && !options->choices_dropped && !options->tunables_set;

	add(list, options, way_of(options), "%s%s", name_of(options), is_whole ? "" : " with changes");
}

static void list_policies(struct list *list, const struct policy_options *options)
{
	static const enum policy_name older[] = { POLICY_BASE, POLICY_SERIES };
	struct policy_options variant = *options;

	for (size_t policy = 0; policy < sizeof(older) / sizeof(*older); policy++) {
		variant.policy = older[policy];
		for (variant.allocator.optimize_scan = EXT2MB_SCAN_LINEAR;
		     variant.allocator.optimize_scan <= EXT2MB_SCAN_INDEXED; variant.allocator.optimize_scan++)
			add(list, &variant, way_of(&variant), "%s", name_of(&variant));
	}
	variant.policy = POLICY_EXT2MB;
	variant.allocator.optimize_scan = options->allocator.optimize_scan;
	add(list, &variant, way_of(&variant), "%s", name_of(&variant));
	if (options->policy == POLICY_USER)
		add(list, options, way_of(options), "%s", name_of(options));
}

static void list_windows(struct list *list, const struct policy_options *options)
{
	static const struct {
		enum ext2mb_locality windows;
		bool has_shares;
		enum way way;
		const char *name;
	} kinds[] = {
		{ EXT2MB_LOCALITY_NONE, false, WAY_OTHER, "none (ext3)" },
		{ EXT2MB_LOCALITY_THREAD, false, WAY_LINUX, "by thread (ext4)" },
		{ EXT2MB_LOCALITY_DIRECTORY, false, WAY_OURS_IN_PART, "by directory" },
		{ EXT2MB_LOCALITY_DIRECTORY, true, WAY_OURS, "and in its share" },
	};

	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(*kinds); kind++) {
		struct policy_options variant = *options;

		if (!kinds[kind].has_shares) {
			variant.choices_added &= ~CHOICE_DIRECTORY_SHARES;
			variant.choices_dropped |= CHOICE_DIRECTORY_SHARES;
		}
		variant.allocator.locality = kinds[kind].windows;
		variant.ignores_flex_groups = kinds[kind].way == WAY_OTHER;
		add(list, &variant, kinds[kind].way, "%s", kinds[kind].name);
	}
}

uint32_t configuration_stripe(const struct policy_options *options)
{
	bool is_open = !options->allocator.stripe_blocks || options->allocator.stripe_blocks == EXT2MB_NO_STRIPE;

	return is_open ? STRIPE_BLOCKS : options->allocator.stripe_blocks;
}

static void list_normalizations(struct list *list, const struct policy_options *options)
{
	static const struct {
		enum ext2mb_normalization normalization;
		enum way way;
		const char *name;
	} kinds[] = {
		{ EXT2MB_NORMALIZE_TABLE, WAY_LINUX, "table" },
		{ EXT2MB_NORMALIZE_POW2, WAY_OTHER, "pow2" },
		{ EXT2MB_NORMALIZE_EXT2MB, WAY_OURS, "ext2mb" },
	};
	struct policy_options variant = *options;

	for (unsigned int has_stripe = 0; has_stripe < 2; has_stripe++) {
		variant.allocator.stripe_blocks = has_stripe ? configuration_stripe(options) : EXT2MB_NO_STRIPE;
		for (size_t kind = 0; kind < sizeof(kinds) / sizeof(*kinds); kind++) {
			variant.allocator.normalization = kinds[kind].normalization;
			if (has_stripe)
				add(list, &variant, kinds[kind].way, "%s, stripe %u", kinds[kind].name,
				    variant.allocator.stripe_blocks);
			else
				add(list, &variant, kinds[kind].way, "%s", kinds[kind].name);
		}
	}
}

static void list_patches(struct list *list, const struct policy_options *options)
{
	struct policy_options variant = *options;

	variant.policy = POLICY_BASE;
	add(list, &variant, WAY_BASE, "base");
	for (unsigned int patch = 1; patch <= PATCHES; patch++) {
		uint32_t choices = choices_of_patch(patch);

		if (!choices)
			continue;
		variant.choices_added |= choices;
		/* The patch that scans in place removed what base has and the series lacks. */
		if (patch == 16)
			variant.choices_dropped |= policy_choices(POLICY_BASE) & ~policy_choices(POLICY_SERIES);
		add(list, &variant, patch == PATCHES ? WAY_SERIES : WAY_STEP,
		    patch == PATCHES ? "after %u: series" : "after %u", patch);
	}
	variant = *options;
	variant.policy = POLICY_EXT2MB;
	add(list, &variant, WAY_OURS, "ext2mb");
	if (options->policy == POLICY_USER)
		add(list, options, way_of(options), "%s", name_of(options));
}

static void list_main(struct list *list, const struct policy_options *options)
{
	static const enum policy_name policies[] = { POLICY_BASE, POLICY_SERIES, POLICY_EXT2MB };
	struct policy_options variant = *options;

	for (size_t policy = 0; policy < sizeof(policies) / sizeof(*policies); policy++) {
		variant.policy = policies[policy];
		add(list, &variant, way_of(&variant), "%s", name_of(&variant));
	}
	variant.allocator.normalization = EXT2MB_NORMALIZE_TABLE;
	add(list, &variant, WAY_OURS_IN_PART, "ext2mb, table");
	if (options->policy == POLICY_USER)
		add(list, options, way_of(options), "%s", name_of(options));
}

static void list_orphans(struct list *list, const struct policy_options *options)
{
	static const struct {
		unsigned int word;
		enum way way; /* the second of the orphan file's two patches removed its lock */
		const char *name;
	} kinds[] = { { 2, WAY_BOUND, "none" }, { 1, WAY_STEP, "locked" }, { 0, WAY_OURS, "lockless" } };

	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(*kinds); kind++) {
		add(list, options, kinds[kind].way, "%s", kinds[kind].name);
		list->configurations[kind].orphans = 1 + kinds[kind].word;
	}
}

errcode_t configuration_add_traced(struct configuration **list, size_t *count)
{
	struct configuration *longer = reallocarray(*list, *count + 1, sizeof(*longer));

	if (!longer)
		return ENOMEM;
	memmove(longer + 1, longer, *count * sizeof(*longer));
	longer[0] = (struct configuration){ .name = "traced", .way = WAY_LINUX, .is_traced = true };
	*list = longer;
	++*count;
	return 0;
}

bool configuration_varies(enum comparison comparison, const char *tunable)
{
	static const char *const varied[][2] = {
		[COMPARE_NOTHING] = { NULL, NULL },
		[COMPARE_POLICIES] = { "policy", "mb_optimize_scan" },
		[COMPARE_NORMALIZATIONS] = { "normalization", "stripe" },
		[COMPARE_WINDOWS] = { "locality", NULL },
		[COMPARE_PATCHES] = { "policy", NULL },
		[COMPARE_MAIN] = { "policy", "normalization" },
		[COMPARE_ORPHANS] = { NULL, NULL },
	};

	for (size_t index = 0; index < sizeof(*varied) / sizeof(**varied); index++)
		if (varied[comparison][index] && strcmp(varied[comparison][index], tunable) == 0)
			return true;
	return false;
}

errcode_t configuration_list(enum comparison comparison, const struct policy_options *options,
                             struct configuration **ret, size_t *count)
{
	static void (*const lists[])(struct list * list, const struct policy_options *options) = {
		[COMPARE_NOTHING] = list_one,     [COMPARE_POLICIES] = list_policies,
		[COMPARE_WINDOWS] = list_windows, [COMPARE_NORMALIZATIONS] = list_normalizations,
		[COMPARE_PATCHES] = list_patches, [COMPARE_MAIN] = list_main,
		[COMPARE_ORPHANS] = list_orphans,
	};
	struct list list = { .configurations = calloc(MOST_CONFIGURATIONS, sizeof(*list.configurations)) };

	if (!list.configurations)
		return ENOMEM;
	lists[comparison](&list, options);
	*ret = list.configurations;
	*count = list.count;
	return 0;
}
