/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories of the sources over symbolic links of the image (source/layers/directory_links.h). */
#pragma once

#include "image/volume.h"
#include "support/run/pool.h"
#include "tree/tree.h"
#include "update/build/options.h"

/*
 * Moves what is in such directories to where the links lead, below `base`, as which absolute ones see the root, too.
 * *followed gets one more for each. Damage is left to the comparison. Errors of reading the image, EINTR, ENOMEM.
 */
MUST_CHECK errcode_t image_links_follow(const struct update_options *options, const struct volume *volume,
                                        const char *base, struct pool *pool, struct tree *tree, uint64_t *followed,
                                        struct problem *problem);
