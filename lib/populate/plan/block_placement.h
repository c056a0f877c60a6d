/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides where every block is stored, before any data moves.
 *
 * The tree is cut into districts (populate/plan/space_estimate.h). How many blocks each needs is known, so each gets a
 * range of the free space, one after the other, and workers fill the ranges independently: where a file is stored
 * depends on the tree and the geometry alone. Files that do not fit their range (metadata may cut a file into more
 * pieces than expected) are placed in order afterwards.
 */
#pragma once

#include "populate/build/open_filesystem.h"
#include "populate/build/plan.h"
#include "populate/build/workplace.h"

/* EXT2MB_ET_NO_SPACE: the size is too small. */
MUST_CHECK errcode_t block_placement_decide(struct plan *plan, const struct filesystem *filesystem,
                                            const struct workplace *work);

/* Frees the placements' maps. */
void block_placement_release(struct plan *plan);
