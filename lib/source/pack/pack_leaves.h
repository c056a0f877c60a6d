/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hashes of a pack's blocks for trees of dm-verity, kept beside the pack for each kind of hash and salt: an image
 * of packs need not be read for its hash tree.
 *
 *   PACK.KEY.leaves   struct pack_leaves_header, and the hash of each block of the pack's contents, as in a hash tree.
 *                     KEY stands for hash and salt: it is the beginning of the hash of zeros
 */
#pragma once

#include "ondisk/hash_tree.h"
#include "source/pack/layer_cache.h"

/* The blocks that have a hash. */
#define PACK_LEAVES_BLOCK_BITS 12

/* The place of the first contents in the file of a pack. */
#define PACK_LEAVES_START_BYTES 4096u

struct pack_leaves {
	uint8_t *hashes; /* owned; NULL: there are none */
	uint64_t blocks;
};

/*
 * Gets them for the pack with this descriptor; what is not kept yet is made, and kept if that is possible. The tree's
 * data blocks have 4 KiB. None: the file is no pack. ENOMEM, EINTR, errors of reading the pack. Main thread.
 */
MUST_CHECK errcode_t pack_leaves_get(const struct layer_cache *cache, int pack, const struct hash_tree *tree,
                                     struct pool *pool, struct pack_leaves *leaves, struct problem *problem);
void pack_leaves_free(struct pack_leaves *leaves);
