/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hash trees of dm-verity in files of their own: those of an image that has been changed no longer fit it. */
#pragma once

#include "update/build/options.h"

/*
 * Adds a warning for each file beside the image that is a hash tree for a filesystem of its size before the update, and
 * whose name is the image's with other words after a dot (root.img: root.verity, root.img.hash). Nothing in an image
 * names its tree, so it may be another image's, and trees elsewhere are not found. bytes: of the filesystem before the
 * update. A folder that cannot be read has none, and without memory there is no warning. Main thread.
 */
void separate_trees_warn(const struct update_options *options, uint64_t bytes, struct warnings *warnings);
