/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hashes of contents that are written to the image, taken while they are in the processor's cache. They go to their
 * places in the hash tree, whose file need not have room in memory: of an image of 1 TiB they are 8 GiB. What is not
 * noted here is read when the tree is made (populate/output/dm_verity.h): metadata, and contents that share blocks with
 * the source, unless hashes are kept beside it (source/pack/pack_leaves.h).
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "ondisk/hash_tree.h"

struct leaf_hashes {
	const struct hash_tree *tree; /* borrowed; its data is the filesystem */
	int descriptor;               /* the file with the tree, borrowed */
	uint64_t tree_offset_bytes;   /* where in that file the tree begins */
	_Atomic uint64_t *known;      /* a bit for each data block whose hash is in its place; owned; NULL: none is */
};

/* No hash is known. Without memory for the bits none will be: then all is read when the tree is made. */
struct leaf_hashes leaf_hashes_create(const struct hash_tree *tree, int descriptor, uint64_t tree_offset_bytes);
void leaf_hashes_free(struct leaf_hashes *leaves);

/*
 * Hashes the whole data blocks of what has just been written at this offset of the filesystem. Any thread. Errors of
 * writing to the tree's file.
 */
MUST_CHECK errcode_t leaf_hashes_note(struct leaf_hashes *leaves, const void *bytes, size_t count,
                                      uint64_t offset_bytes);

/* Takes hashes that are known of so many data blocks, which have been written. Any thread. Errors of writing. */
MUST_CHECK errcode_t leaf_hashes_take(struct leaf_hashes *leaves, const uint8_t *hashes, uint64_t data_block,
                                      uint64_t count);

/*
 * Other bytes have been written there, whose hashes are not noted: metadata, in blocks that were free when contents
 * were written (--keep-hidden writes to such, too). Any thread, but not while another one notes the same blocks.
 */
void leaf_hashes_forget(struct leaf_hashes *leaves, size_t count, uint64_t offset_bytes);

/* Not while any thread notes. */
static inline bool leaf_hashes_has(const struct leaf_hashes *leaves, uint64_t data_block)
{
	return leaves->known &&
	       (atomic_load_explicit(&leaves->known[data_block / 64], memory_order_relaxed) >> data_block % 64 & 1);
}
