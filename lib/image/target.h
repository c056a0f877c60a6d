/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The name by which the user calls a filesystem: an image, a device, LABEL=, UUID= and so on, or a partition within one
 * of these. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

struct target {
	char *path; /* owned */
	uint64_t offset_bytes;
};

/*
 * Finds it. partition: its number in the partition table at offset_bytes 0; 0: none. Errors: ENODEV (no filesystem has
 * that label or UUID), ENOENT (no such partition), EINVAL (no partition table), ENOMEM, errors of opening.
 */
MUST_CHECK errcode_t target_find(const char *name, uint64_t offset_bytes, unsigned int partition, struct target *target,
                                 struct problem *problem);
void target_free(struct target *target);

/*
 * Names in the problem the format that is there instead of a filesystem, or leaves the problem as it is. error: the
 * error of opening it (EXT2_ET_BAD_MAGIC or EXT2_ET_SHORT_READ), or 0 if opening succeeded but the filesystem is in
 * doubt; returned if no other error applies.
 */
MUST_CHECK errcode_t target_explain(const struct target *target, errcode_t error, struct problem *problem);

/* As volume_check_end(), of a filesystem that libext2fs opens. 0 also if there is none. */
MUST_CHECK errcode_t target_check_end(const struct target *target, const char *name, const char *action,
                                      struct problem *problem);
