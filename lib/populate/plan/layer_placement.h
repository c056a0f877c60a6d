/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --layout=layers: all contents of a source follow each other, in the order in which a pack of it has them
 * (populate/plan/content_order.h). An image then shares a pack of each layer in as few pieces as what upper layers
 * hide, and metadata of groups, leave of it.
 *
 * Directories and symlinks come first, in the order of the tree; then contents, layer by layer; then the maps of files
 * that need blocks for them, which would cut contents into pieces. All are taken from the whole free space, so nothing
 * is left over. This is a layout version of its own: another order gives other images.
 *
 * Serial, linear: a free extent is taken from libext2mb once, and divided here.
 */
#pragma once

#include "populate/build/open_filesystem.h"
#include "populate/build/plan.h"
#include "populate/build/workplace.h"

/* EXT2MB_ET_NO_SPACE: the size is too small. */
MUST_CHECK errcode_t layer_placement_fill(struct plan *plan, const struct filesystem *filesystem,
                                          const struct workplace *work);
