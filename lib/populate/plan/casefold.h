/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which directories are case-insensitive. */
#pragma once

#include "populate/build/build.h"

/*
 * Marks the placements of the directories that the options name, and of all below them, as the kernel has
 * subdirectories inherit it. The problem names what is no directory of the source; EINVAL: the filesystem lacks the
 * feature.
 */
MUST_CHECK errcode_t casefold_mark(struct build *build, struct problem *problem);
