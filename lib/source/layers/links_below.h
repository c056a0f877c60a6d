/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hard links of one layer to files of the layers below it. An archive that is unpacked over other files may link to
 * what is there already, so where a link leads is not known before all layers are.
 *
 * Programs that unpack layers one after another (umoci, containerd) find a target among what they have unpacked so far,
 * and so does this. A whiteout hides files of lower layers only, and only from those links of its layer that come after
 * it: what is linked to first keeps its new name when the old one goes.
 */
#pragma once

#include "source/layers/whiteouts.h"

/*
 * Finds what every node with is_below leads to, whose device then says it: major is the layer, minor a node there.
 * That node counts one more link, and is read wherever it lies (tree_fix_host_path()). layers: the lowest first.
 * ENOENT where nothing has the name or a layer hides it, EISDIR; the problem names the link and says which. ENOMEM.
 */
MUST_CHECK errcode_t links_below_resolve(struct whiteouts *layers, uint32_t count, struct problem *problem);

/* From a name to the layer and the node of the file that it is a name of; to itself where it is not a link to below. */
void links_below_follow(const struct whiteouts *layers, uint32_t *layer, uint32_t *node);
