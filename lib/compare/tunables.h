/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What can be set in an allocator, by the kernel's names where the kernel has it too: one table for all tools. A new
 * tunable is a row of it, and where it goes in struct policy_options. One that no code uses is refused with a reason.
 */
#pragma once

#include "compare/policies.h"

struct tunable {
	const char *name;
	/* The value in an allocator that was opened with the options; of words, the index. NULL: it cannot be set. */
	uint64_t (*get)(const struct ext2mb *mb, const struct policy_options *options);
	void (*set)(struct policy_options *options, uint64_t value);
	const char *const *words; /* instead of numbers; NULL after the last one */
	const char *(*text)(
		const struct policy_options *options); /* what it is where it is no word; NULL: it always is */
	uint64_t minimum, maximum;
	bool is_live;        /* an open allocator can change it */
	const char *limit;   /* why an allocator may have another value than was set; NULL: it never has */
	const char *refusal; /* why it cannot be set */
};

/* In the order in which they are listed; NULL after the last one. */
const struct tunable *tunable_get(unsigned int index);

/* NULL: there is none of this name. */
const struct tunable *tunable_find(const char *name);

/* The value that text stands for; the problem says why there is none: EINVAL, or EOPNOTSUPP where it cannot be set. */
MUST_CHECK errcode_t tunable_read(const struct tunable *tunable, const char *text, uint64_t *value,
                                  struct problem *problem);

/* Sets a value that tunable_read() has given, and notes it for tunables_verify(). */
void tunable_set(const struct tunable *tunable, struct policy_options *options, uint64_t value);

/*
 * Whether an allocator that was opened with the options has the value, or all that were set: some are rounded, or
 * cannot be had with this filesystem and policy. EINVAL.
 */
MUST_CHECK errcode_t tunable_verify(const struct tunable *tunable, const struct ext2mb *mb,
                                    const struct policy_options *options, uint64_t value, struct problem *problem);
MUST_CHECK errcode_t tunables_verify(const struct ext2mb *mb, const struct policy_options *options,
                                     struct problem *problem);
