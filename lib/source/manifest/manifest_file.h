/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that a manifest is in, packed or not. */
#pragma once

#include "source/mtree/mtree.h"

/* mtree_read() of an open file, which may be packed as an archive may be. The problem names it as name. */
MUST_CHECK errcode_t manifest_file_read(int descriptor, const char *name, mtree_visit visit, void *context,
                                        struct problem *problem);
