/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a RAID has to read before it can write: stripes of which an extent covers a part only. Pure. */
#pragma once

#include "simulate/image/file_set.h"

/*
 * How many there are if the files of a set and its subdirectories are written extent by extent; extents that lie
 * side by side in a file are one. stripe_blocks: not 0.
 */
uint64_t partial_stripes(const struct file_set *set, uint32_t stripe_blocks);
