/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which of two ways the allocator goes, wherever the kernel has gone more than one: a bit for every choice, and
 * whole sets of them by name. They are decided when an allocator is opened; see doc/POLICIES.md.
 */
#ifndef EXT2FS_POLICY_H
#define EXT2FS_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/ext2mb.h"

struct policy {
	const char *name;
	uint32_t choices;      /* EXT2MB_CHOICE_* */
	uint32_t least_groups; /* in filesystems with fewer, mb_optimize_scan is off unless asked for */
};

/* NULL: there is none of that number. */
const struct policy *policy_get(enum ext2mb_policy policy);

/* What the options ask for. options may be NULL. EXT2MB_ET_BAD_ARGUMENT. */
EXT2MB_MUST_CHECK errcode_t policy_resolve(const struct ext2mb_options *options, struct policy *policy);

#endif
