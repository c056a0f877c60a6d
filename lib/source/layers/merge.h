/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merges several trees, each laid over the earlier ones as `cp -a` would lay it. Directories merge, and take all
 * attributes from the last tree that has them; any other file is replaced by a later file of the same name, but a
 * symbolic link only by a directory of a layer. Contents of replaced files are never read. A layer may also remove
 * names of lower layers (whiteouts), or all names of a directory (an opaque directory).
 */
#pragma once

#include "source/kind/links_below.h"
#include "source/layers/directory_links.h"
#include "support/run/pool.h"
#include "tree/tree.h"

/* The forms of a layer's whiteouts, which never become files of the merged tree. */
enum whiteout_form {
	WHITEOUTS_NONE, /* the layer has no whiteouts */
	/*
	 * As in the layers of OCI images: ".wh.NAME" removes NAME, ".wh..wh..opq" makes its directory opaque; other
	 * names that begin with ".wh..wh." are left out. A layer's own files stay, whatever their order. A directory
	 * that has no entry and nothing but such names in it is not made, and replaces nothing.
	 */
	WHITEOUTS_OCI,
	/*
	 * As overlayfs stores them: a character device 0/0 (or an empty file with the xattr overlay.whiteout) removes
	 * its own name, the xattr overlay.opaque=y makes a directory opaque; all in trusted.* or user.*. Other xattrs
	 * of overlayfs itself are left out.
	 */
	WHITEOUTS_OVERLAYFS,
};

/* What becomes of whiteouts that remove something of layers that are not here. */
enum whiteout_keeping {
	WHITEOUTS_DROPPED,
	WHITEOUTS_AS_OVERLAYFS, /* the tree is to be a layer itself: they become overlayfs's own (trusted.*) */
	WHITEOUTS_AS_MARKS,     /* the tree is to be laid over something else: is_opaque (tree/tree.h) */
};

struct merge_layer {
	struct tree *tree; /* taken: NULL afterwards, even after a failure */
	enum whiteout_form whiteouts;
	struct links_below below; /* taken likewise; empty: no link leads to the layers below */

	/* For tree_merge() alone; zero-initialise. */
	uint8_t *meanings; /* overlayfs: what each of the tree's xattr sets says; else NULL */
	uint32_t first_origin;
	uint32_t *set_numbers; /* by xattr set: its number in the table */
	uint32_t *first_names; /* by a file's first node: that of its first name in the merged tree, 0: none yet */
};

/* Directories over symbolic links of the layers below. */
struct directory_links {
	uint64_t followed; /* they lead to a directory, which got what was in the directory above them */
	uint64_t replaced; /* by directories that a layer has no entry for, only for files in them */
};

struct merge_options {
	enum whiteout_keeping keeping; /* what becomes of whiteouts that hide something of layers that are not here */
	bool follows_links;            /* see source/layers/directory_links.h; needs the pool */
	struct pool *pool;
	const struct lower_files *below; /* what the lowest layer will be laid over, for links alone; NULL: nothing */
	bool has_base_layer;             /* the lowest layer has files of that, for hard links alone */
	struct directory_links *links;   /* is counted up; NULL: nobody asks */
	struct warnings *warnings;       /* gets one if links were replaced; may be NULL */
};

/*
 * Merges count layers (at least one), the lowest first.
 *
 * Hard links of one layer stay joined; where the first name of a file has gone, the next one takes its place. Linear in
 * the nodes of all layers (with a logarithm of how many have the same directory). At its peak it holds the nodes of all
 * layers and of the result; names are not copied. Serial: 10 million nodes took 1.7 s.
 * ENOMEM; EOVERFLOW: more than 2^32 nodes; EINVAL: a mark that removes nothing that can be a name; ENOTDIR: a directory
 * of a tree without whiteouts over a symbolic link; ENOTSUP: a redirect or a file without data (metacopy) of overlayfs,
 * which only a mount of all its layers understands; EINTR.
 */
MUST_CHECK errcode_t tree_merge(struct merge_layer *layers, uint32_t count, const struct merge_options *options,
                                struct tree **ret, struct problem *problem);
