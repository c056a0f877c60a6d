/* SPDX-License-Identifier: GPL-2.0-or-later */
/* With which policy and choices the allocator is opened: one, or several that are compared. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "compare/policies.h"
#include "support/problem.h"

#define CONFIGURATION_NAME_BYTES 64

/* Whose way of doing it a configuration shows: what charts have a colour for, the same in each of them. */
enum way {
	WAY_OURS,
	WAY_OURS_IN_PART, /* ours with something left out or set */
	WAY_BASE,         /* Linux before the series */
	WAY_STEP,         /* Linux with some of a series' patches */
	WAY_SERIES,       /* Linux with all of them */
	WAY_LINUX,        /* what the series has not changed */
	WAY_OTHER,        /* another filesystem's, or a proposal that Linux has not taken */
	WAY_BOUND,        /* not done at all */
};

#define WAYS (WAY_BOUND + 1)

struct configuration {
	char name[CONFIGURATION_NAME_BYTES]; /* as tables call it */
	enum way way;
	struct policy_options options;
	unsigned int orphans; /* 1 and the number of a word of the workload's option --orphans; 0: as it is set */
	bool is_traced;       /* blocks go where a trace says that they went; nothing is chosen */
};

/*
 * Adds the choices that text names to *choices: names or numbers of patches, "try-lock,4,8-10". A number that belongs
 * to a patch without a choice (6, 7, 12 to 14) adds nothing. EINVAL: names something else.
 */
MUST_CHECK errcode_t configuration_parse_choices(const char *text, uint32_t *choices);

enum comparison {
	COMPARE_NOTHING,
	COMPARE_POLICIES, /* base and series, each linear and indexed; ext2mb; somebody's own if that is the policy */
	COMPARE_NORMALIZATIONS, /* how much is reserved: table, pow2, ext2mb; with and without stripes */
	COMPARE_WINDOWS,        /* windows for small files: none, by thread, by directory, and where its inodes are */
	COMPARE_PATCHES,        /* base, base after each patch, ext2mb; all with the scan of the options given */
	COMPARE_MAIN,           /* base, series, ext2mb, and ext2mb with the kernel's normalisation */
	COMPARE_ORPHANS, /* how orphans are kept: not at all, with a lock, without; of workloads that keep some */
};

/* The stripe that the options say, in blocks; where they leave it open or say none, the one that is compared with. */
uint32_t configuration_stripe(const struct policy_options *options);

/* Whether the comparison has runs with several values of a tunable, so that nobody else can set it. */
bool configuration_varies(enum comparison comparison, const char *tunable);

/*
 * The configurations of a comparison, made from what the options say of everything else. The caller frees *ret.
 * ENOMEM.
 */
MUST_CHECK errcode_t configuration_list(enum comparison comparison, const struct policy_options *options,
                                        struct configuration **ret, size_t *count);

/* Puts what a trace says before all others. ENOMEM, and nothing has changed. */
MUST_CHECK errcode_t configuration_add_traced(struct configuration **list, size_t *count);
