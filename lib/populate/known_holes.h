/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What copying has found to be zeros becomes holes of the tree, so that a second attempt needs no room for them. */
#ifndef POPULATE_KNOWN_HOLES_H
#define POPULATE_KNOWN_HOLES_H

#include "populate/build.h"

/* After copy_files(), while the placements stand. ENOMEM. Main thread only. */
MUST_CHECK errcode_t known_holes_take(struct build *build);

#endif
