/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tunables of an allocator, with the kernel's names if the kernel has them: one table for all tools. A new
 * tunable is a row of it, and a member of struct policy_options. A tunable that no code uses is refused with a
 * reason.
 */
#pragma once

#include "compare/policies.h"

struct tunable {
	const char *name;
	/* Returns the value in an allocator that was opened with the options; for words the index. NULL: it cannot be
	 * set. */
	uint64_t (*get)(const struct ext2mb *mb, const struct policy_options *options);
	void (*set)(struct policy_options *options, uint64_t value);
	const char *const *words; /* words instead of numbers; NULL after the last one */
	const char *(*text)(const struct policy_options *options); /* returns the name of a value that is no word; NULL:
	                                                            * every value is a word */
	uint64_t minimum, maximum;
	bool is_live;        /* an open allocator can change it */
	const char *limit;   /* why an allocator may differ from the value that was set; NULL: it never does */
	const char *refusal; /* why it cannot be set */
};

/* In the order of listings; ends with a zero row. */
extern const struct tunable all_tunables[];

/* Returns NULL if there is none of this name. */
const struct tunable *tunable_find(const char *name);

/* Reads a value from text. EINVAL, or EOPNOTSUPP if the tunable cannot be set; the problem says why. */
MUST_CHECK errcode_t tunable_read(const struct tunable *tunable, const char *text, uint64_t *value,
                                  struct problem *problem);

/* Whether the options have it from tunable_set(). */
bool tunable_is_set(const struct tunable *tunable, const struct policy_options *options);

/* Sets a value that tunable_read() has returned, and notes it for tunables_verify(). */
void tunable_set(const struct tunable *tunable, struct policy_options *options, uint64_t value);

/*
 * Check that an allocator that was opened with the options has the value, or all that were set: some are rounded, or
 * not available with this filesystem and policy. EINVAL.
 */
MUST_CHECK errcode_t tunable_verify(const struct tunable *tunable, const struct ext2mb *mb,
                                    const struct policy_options *options, struct problem *problem);
MUST_CHECK errcode_t tunables_verify(const struct ext2mb *mb, const struct policy_options *options,
                                     struct problem *problem);
