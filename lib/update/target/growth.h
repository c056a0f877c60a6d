/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The size that an image needs which lacks blocks or inodes for an update. */
#pragma once

#include "image/volume.h"
#include "update/build/options.h"
#include "update/target/need.h"

/* The blocks that are to stay free after the update, with those that only the superuser may take. */
uint64_t growth_kept_blocks(const struct update_options *options, const struct volume *volume);

/*
 * Returns the blocks with which resize2fs(8) should leave no lack: it needs some for new groups' metadata, adds inodes
 * only with whole groups, and leaves a last group out that would hold little beside its metadata. 0: no size leaves as
 * much free as the options want.
 */
uint64_t growth_size(const struct update_options *options, const struct volume *volume, struct update_lack lack);
