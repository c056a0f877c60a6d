/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Owner, permissions, xattrs, times, flags and project of a file that has been made. */
#pragma once

#include "extract/directory_place.h"

/*
 * All but flags and project. descriptor: of the file, also one of O_PATH (is_path): then Linux needs /proc. What the
 * host refuses is counted as a loss. Without the owner, a file gets no set-user-id and set-group-id bits, which would
 * be those of another user. ENOMEM.
 */
MUST_CHECK errcode_t metadata_set(struct place *place, unsigned int worker, uint32_t node, int descriptor,
                                  bool is_path);

/*
 * The rest, last of all: an immutable file cannot be linked to, and its times cannot be set. descriptor: as above, but
 * open for reading. ENOMEM.
 */
MUST_CHECK errcode_t metadata_set_flags(struct place *place, unsigned int worker, uint32_t node, int descriptor);

/* Has it anything of that? */
bool metadata_has_flags(const struct place *place, uint32_t node);
