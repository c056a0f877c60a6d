/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that fs-verity protects: which they are in the image that is planned, and where their hashes and descriptors
 * are (ondisk/verity.h).
 */
#pragma once

#include "populate/build/plan.h"

/* Blocks of 4 KiB, as fsverity(1) has them, where the filesystem has such. */
#define PROTECTION_USUAL_BLOCK_BITS 12

/*
 * Whether a regular file is to be protected in the plan's format. What a source brings is left out where the filesystem
 * cannot hold it (metadata/flags.h counts it); what the user asks for is an error then: ENOTSUP, the filesystem lacks
 * extents or the feature verity; E2BIG, its blocks are smaller than those of the hashes; EFBIG, the file would be too
 * large. protection_reason() says more.
 */
MUST_CHECK errcode_t protection_decide(const struct plan *plan, uint32_t node, bool *is_protected);

/* Words for its errors; NULL: the error code says it all. The caller frees them. */
char *protection_reason(const struct plan *plan, uint32_t node, errcode_t error);

/* The descriptor of a protected file, without its root hash. */
struct verity_value protection_value(const struct plan *plan, uint32_t node);

/* The tree of a protected file. salt: lasts as long as the value. */
struct hash_tree_form protection_form(const struct verity_value *value);

/* Returns the place of a protected file's hashes and descriptor. */
struct verity_place protection_place(const struct plan *plan, uint32_t node);

/* Fills in plan->protected_files once all files have been counted. ENOMEM. */
MUST_CHECK errcode_t protection_list(struct plan *plan);

/* The file of a node, the first of its names; NULL: it is not protected. */
struct protected_file *protection_find(const struct plan *plan, uint32_t node);

void protection_release(struct plan *plan);
