/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories of the sources over symbolic links of the image (source/layers/directory_links.h). */
#pragma once

#include "image/map_walk.h"
#include "image/volume.h"
#include "source/layers/directory_links.h"
#include "support/run/pool.h"
#include "tree/tree.h"
#include "update/build/options.h"

/* The image's files below `base`, as which absolute links see the root, too. For one thread. */
struct image_links {
	const struct volume *volume;
	const char *base;
	struct map_walker own_walker, *walker;
	uint64_t blocks_read;
	struct lower_files files;
};

/*
 * *links stays where it is until it is closed. must_lead: of files. Damage is left to the comparison. Errors of
 * map_walker_open().
 */
MUST_CHECK errcode_t image_links_open(const struct volume *volume, const char *base, bool must_lead,
                                      struct image_links *links);
void image_links_close(struct image_links *links);

/*
 * Moves what is in such directories to where the links lead. *followed gets one more for each. Errors of reading the
 * image, EINTR, ENOMEM.
 */
MUST_CHECK errcode_t image_links_follow(const struct update_options *options, const struct image_links *links,
                                        struct pool *pool, struct tree *tree, uint64_t *followed,
                                        struct problem *problem);
