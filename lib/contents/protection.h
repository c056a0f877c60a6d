/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that fs-verity protects: which they are in an image that is made or changed, and where their hashes and
 * descriptors are (ondisk/verity.h).
 */
#pragma once

#include <stdatomic.h>

#include "ondisk/format.h"
#include "ondisk/hash_tree.h"
#include "ondisk/verity.h"
#include "tree/details.h"
#include "tree/tree.h"

/* Blocks of 4 KiB, as fsverity(1) has them, where the filesystem has such. */
#define PROTECTION_USUAL_BLOCK_BITS 12

/* A regular file that is protected in the image. */
struct protected_file {
	uint32_t node;
	/* While it is copied: */
	atomic_uint pending_slices;
	struct shared_tree *tree; /* of its slices, see contents/protect.h; NULL: it has none */
	uint8_t digest[HASH_TREE_MOST_DIGEST_BYTES];
};

/* All of an image. */
struct protection {
	const struct tree *tree;            /* borrowed, as all of these */
	const struct ondisk_format *format; /* as it is at each call */
	const char *image;                  /* its name in messages */
	bool may_choose_blocks;             /* the filesystem's may become 4 KiB for the sake of fs-verity */
	struct protected_file *files;       /* owned: ascending by node, each node the first of its names */
	uint32_t count, capacity;
};

/*
 * Whether a regular file is to be protected. What a source brings is left out where the filesystem cannot hold it; what
 * the user asks for is an error then: ENOTSUP, the filesystem lacks extents or the feature verity; E2BIG, its blocks
 * are smaller than those of the hashes; EFBIG, the file would be too large. protection_reason() says more.
 */
MUST_CHECK errcode_t protection_decide(const struct protection *protection, uint32_t node, bool *is_protected);

/* Words for its errors; NULL: the error code says it all. The caller frees them. */
char *protection_reason(const struct protection *protection, uint32_t node, errcode_t error);

/* The descriptor of a protected file, without its root hash. */
struct verity_value protection_value(const struct protection *protection, uint32_t node);

/* The tree of a protected file. salt: lasts as long as the value. */
struct hash_tree_form protection_form(const struct verity_value *value);

/* Returns the place of a protected file's hashes and descriptor. */
struct verity_place protection_place(const struct protection *protection, uint32_t node);

/* Adds a protected file, after those before it. ENOMEM. */
MUST_CHECK errcode_t protection_add(struct protection *protection, uint32_t node);

/* The file of a node, the first of its names; NULL: it is not protected. */
struct protected_file *protection_find(const struct protection *protection, uint32_t node);

/* Forgets all files. */
void protection_release(struct protection *protection);
