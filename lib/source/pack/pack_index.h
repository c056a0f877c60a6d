/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The index of a pack (pack_format.h) from a tree, and back. */
#pragma once

#include "source/kind/links_below.h"
#include "source/pack/pack_format.h"
#include "tree/source_limits.h"
#include "tree/tree.h"

/* A layer as its archive gave it, with all that it says. */
struct pack_layer {
	const struct tree *tree;
	const struct links_below *below;    /* order may be NULL */
	const struct source_counts *counts; /* of reading it alone; NULL: nothing was counted */
	bool left_out_whiteouts;            /* PACK_LEFT_OUT_WHITEOUTS */
};

/* The lists of an index in memory. Each struct is as in the file. */
struct pack_lists {
	struct pack_counts counts; /* in the host's byte order */
	uint64_t slices;           /* how many checksums there are */
	struct pack_node *nodes;
	struct pack_detail *details;
	struct pack_segment *segments;
	struct pack_xattr *xattrs;
	struct pack_link *links;
	uint32_t *set_counts, *map_counts, *order, *checksums;
	char *strings;
};

/*
 * The lists of an index in memory, which must be aligned for uint64_t; counts and slices of `lists` are set. Returns
 * how many bytes the index has; UINT64_MAX: more than can be.
 */
uint64_t pack_lists_place(struct pack_lists *lists, void *index);

/*
 * Finds the lists of an index in memory, as above; false: its length is not that of its lists. The items of
 * the lists are not looked at.
 */
bool pack_index_lists(void *index, uint64_t index_bytes, uint64_t contents_bytes, struct pack_lists *lists);

/* How many slices so many bytes of contents have. */
static inline uint64_t pack_slices(uint64_t contents_bytes)
{
	return contents_bytes / PACK_SLICE_BYTES + (contents_bytes % PACK_SLICE_BYTES != 0);
}

/* How many bytes the contents take. EFBIG. */
MUST_CHECK errcode_t pack_contents_bytes(const struct tree *tree, uint64_t *bytes);

/*
 * Makes the index of a layer. checksums: of the contents' slices, of which pack_contents_bytes() says the number. The
 * caller frees *index. ENOMEM; EFBIG: it has more names than the format has room for; ENOTSUP: something in the tree
 * that no archive has.
 */
MUST_CHECK errcode_t pack_index_make(const struct pack_layer *layer, const uint32_t *checksums, void **index,
                                     uint64_t *bytes);

/*
 * Makes an empty tree of an index, which must lie in the tree's memory, aligned for uint64_t, and is trusted with
 * nothing: a loop, a name that leads elsewhere, bytes outside of the contents are refused. All nodes belong to the
 * tree's origin 0, which is one of stored_contents_add_blocks(); links to layers below get one of their own. below gets
 * what it has of them. EBADMSG: it is damaged, and *reason says how; ENOMEM.
 */
MUST_CHECK errcode_t pack_index_read(void *index, uint64_t index_bytes, uint64_t contents_bytes, struct tree *tree,
                                     struct links_below *below, struct pack_lists *lists, const char **reason);
