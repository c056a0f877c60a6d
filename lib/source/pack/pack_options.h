/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a user's options make of a layer that was read without them. */
#pragma once

#include "source/kind/links_below.h"
#include "source/kind/source_kind.h"

/*
 * Changes the tree of a pack to what its archive would have given with these options: exclude, without_xattrs,
 * without_flags, asks_for_times. below->order is changed with it. ENOMEM.
 */
MUST_CHECK errcode_t pack_options_apply(struct tree *tree, struct links_below *below,
                                        const struct scan_options *options, struct pool *pool, struct problem *problem);
