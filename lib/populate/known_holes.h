/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zeros of the source that are no holes become holes of the tree, so that an attempt that follows needs no room for
 * them. Both count their bytes in build->known_zero_bytes. Main thread only.
 */
#ifndef POPULATE_KNOWN_HOLES_H
#define POPULATE_KNOWN_HOLES_H

#include "populate/build.h"

/* What copying has found: after copy_files(), while the placements stand. ENOMEM. */
MUST_CHECK errcode_t known_holes_take(struct build *build);

/* What there is, by reading everything: for a tree that is too large for the size that was asked for. */
MUST_CHECK errcode_t known_holes_look(struct build *build);

#endif
