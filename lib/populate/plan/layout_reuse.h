/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Before anything is placed: blocks that a file of the same name had in an earlier image are reserved for it again,
 * as many as it still needs, so that two builds of nearly the same tree differ in few blocks (--stable-from; Android's
 * base_fs has the same purpose).
 */
#pragma once

#include "populate/build/build.h"

/*
 * Makes build->reused from build->base. Serial: what is kept depends on the tree and the earlier image alone. Does
 * nothing where there is no earlier image, or one with blocks of another size.
 */
MUST_CHECK errcode_t layout_reuse_reserve(struct build *build);

void layout_reuse_release(struct build *build);
