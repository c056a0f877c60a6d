/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contents of a file that has been made, and is empty. */
#pragma once

#include "extract/directory_place.h"

/*
 * Writes bytes [start, stop) of a piece of a regular file: what is a hole is not written, what is unwritten is
 * allocated where the host can, and what the host can copy or share itself it does. descriptor: open for writing.
 * *is_source: the error is of reading, and has a problem; else it is of writing, and has none.
 */
MUST_CHECK errcode_t directory_copy(struct place *place, unsigned int worker, uint32_t node, const struct piece *piece,
                                    int descriptor, bool *is_source, struct problem *problem);
