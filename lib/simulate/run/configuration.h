/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Configurations of the allocator, policy and choices: one, or several that are compared. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "compare/policies.h"
#include "support/problem.h"

#define CONFIGURATION_NAME_BYTES 64

/* The kind of a configuration, which decides its colour in all charts. */
enum way {
	WAY_OURS,
	WAY_OURS_IN_PART, /* ours with a choice dropped or a tunable set */
	WAY_BASE,         /* Linux before the series */
	WAY_STEP,         /* Linux with some of a series' patches */
	WAY_SERIES,       /* Linux with all of them */
	WAY_LINUX,        /* Linux where the series changed nothing */
	WAY_OTHER,        /* another filesystem's, or a proposal that Linux has not merged */
	WAY_BOUND,        /* without the feature: a bound */
};

#define WAYS (WAY_BOUND + 1)

struct configuration {
	char name[CONFIGURATION_NAME_BYTES]; /* its name in tables */
	enum way way;
	struct policy_options options;
	unsigned int orphans; /* 1 + the index of a word of the workload's option --orphans; 0: as set */
	bool is_traced;       /* blocks are those of the trace; no policy chooses */
};

/*
 * Adds choices to *choices. text has names or numbers of patches: "try-lock,4,8-10". Patches without a choice (6, 7,
 * 12 to 14) add nothing. EINVAL: an unknown name.
 */
MUST_CHECK errcode_t configuration_parse_choices(const char *text, uint32_t *choices);

enum comparison {
	COMPARE_NOTHING,
	COMPARE_POLICIES, /* base and series, each linear and indexed; ext2mb; the user's own if that is the policy */
	COMPARE_NORMALIZATIONS, /* table, pow2, ext2mb; with and without stripes */
	COMPARE_WINDOWS,        /* locality groups: none, by thread, by directory, and near its inodes */
	COMPARE_PATCHES,        /* base, base after each patch, ext2mb; all with the given scan */
	COMPARE_MAIN,           /* base, series, ext2mb, and ext2mb with the kernel's normalisation */
	COMPARE_ORPHANS,        /* for workloads with orphans: none, with a lock, without a lock */
};

/* The options' stripe in blocks; if they have none, the one for comparisons. */
uint32_t configuration_stripe(const struct policy_options *options);

/* Whether the runs of the comparison differ in a tunable, so that the user cannot set it. */
bool configuration_varies(enum comparison comparison, const char *tunable);

/*
 * Makes the configurations of a comparison; everything else is as in the options. The caller frees *ret. ENOMEM.
 */
MUST_CHECK errcode_t configuration_list(enum comparison comparison, const struct policy_options *options,
                                        struct configuration **ret, size_t *count);

/* Inserts the configuration of the trace before all others. ENOMEM; then nothing has changed. */
MUST_CHECK errcode_t configuration_add_traced(struct configuration **list, size_t *count);
