/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interprets a layer's whiteouts and opaque directories (source/layers/merge.h), and finds the targets of its hard
 * links to files of lower layers.
 */
#pragma once

#include "source/layers/merge.h"
#include "support/run/pool.h"
#include "tree/xattr_table.h"

#define WHITEOUT_PREFIX_BYTES 4u /* of ".wh." */

/* Makes layer->meanings. ENOMEM. */
MUST_CHECK errcode_t whiteouts_read(struct merge_layer *layer);

/* Where among its directory's children, which are sorted, the names that begin with ".wh." stand. */
struct whiteout_range {
	uint32_t start, end;
	uint32_t own_start, own_end; /* of these: ".wh..wh.", which name nothing to remove */
};

struct whiteout_range whiteouts_find(const struct merge_layer *layer, uint32_t directory);

/* The node itself is a whiteout of its own name. */
bool whiteouts_is_whiteout(const struct merge_layer *layer, uint32_t node);

/*
 * Whether the directory is opaque: no file of lower layers shows in it. In an archive only members before this place
 * count (links_below.order); UINT32_MAX: all do.
 */
bool whiteouts_is_opaque(const struct merge_layer *layer, uint32_t directory, uint32_t before);

/* EINVAL for a marker ".wh.NAME" (one of whiteouts_find()) where NAME cannot be a name; the problem says which. */
MUST_CHECK errcode_t whiteouts_check_marker(const struct merge_layer *layer, uint32_t node, struct problem *problem);

/* ENOTSUP for a file that is whole only in a mount of its overlay; the problem says why. */
MUST_CHECK errcode_t whiteouts_check_file(const struct merge_layer *layer, uint32_t node, struct problem *problem);

/*
 * Puts one of the tree's xattr sets into a table, without what overlayfs keeps for itself; with is_opaque, with the
 * xattr that makes a directory opaque. ENOMEM, EOVERFLOW.
 */
MUST_CHECK errcode_t whiteouts_intern_xattrs(const struct merge_layer *layer, uint32_t set, bool is_opaque,
                                             struct xattr_table *table, struct xattr_table_memory *last,
                                             uint32_t *number);

/*
 * Moves what a layer has in directories over symbolic links to directories of the layers below to where these lead
 * (source/layers/directory_links.h); of a layer with whiteouts, only what lies in directories that it implies. A link
 * that the layer removes is not there. layers[top] and those below have been read.
 */
struct lower_layers {
	struct merge_layer *layers;
	uint32_t first; /* the lowest that counts */
	const struct lower_files *below;
};
MUST_CHECK errcode_t whiteouts_follow_directories(const struct lower_layers *lower, uint32_t top, struct pool *pool,
                                                  uint64_t *followed, struct problem *problem);

/*
 * Hard links of one layer to files of lower layers. An archive that is unpacked over other files may link to files that
 * are already there, so targets are unknown until all layers have been read.
 *
 * Programs that unpack layers one after another (umoci, containerd) find a target among what they have unpacked so far,
 * and so does this. A whiteout hides files of lower layers only, and only from those links of its layer that come after
 * it: what is linked to first keeps its new name when the old one goes. Symbolic links on the way to a target are
 * followed, within the tree.
 *
 * Finds what every link of layer->below leads to, which then says it: a layer and a node there. That node counts one
 * more link, and is read wherever it lies (tree_fix_contents()). layers: the lowest first. ENOENT where nothing has the
 * name or a layer hides it, EISDIR; the problem names the link and says which. below: files on the way to a target, as
 * for merge_options. ENOMEM.
 */
MUST_CHECK errcode_t whiteouts_resolve_links(struct merge_layer *layers, uint32_t count,
                                             const struct lower_files *below, struct problem *problem);

/* From a name to the layer and the node of the file that it is a name of; to itself where it is not a link to below. */
void whiteouts_follow_link(const struct merge_layer *layers, uint32_t *layer, uint32_t *node);
