/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides where every block goes, before any data moves.
 *
 * The tree is cut into districts, runs of neighbouring nodes. How many blocks each needs is known, so each
 * gets a window of the free space, one behind the other, and workers fill the windows independently: where a
 * file goes depends on the tree and the geometry alone. What does not fit its window (a file that metadata
 * cuts into more pieces than were reckoned with) is placed in order afterwards.
 */
#ifndef POPULATE_PLACE_H
#define POPULATE_PLACE_H

#include "populate/plan/needs.h"

MUST_CHECK errcode_t place_blocks(struct build *build, const struct needs *needs);

/* Frees the placements' maps. */
void place_release(struct build *build);

#endif
