/* SPDX-License-Identifier: GPL-2.0-or-later */
/* May the image be changed? Answered before anything of it is written, its journal included. */
#pragma once

#include "image/volume.h"
#include "update/build/options.h"

struct update_target {
	struct volume volume; /* as if the journal had been replayed */
	bool is_open;         /* the volume */
	bool has_journal;     /* of its own */
	bool is_device;
};

/*
 * Opens the image for reading. Refuses what is mounted or in use (EBUSY), what has features that this code does not
 * know (EXT2_ET_UNSUPP_FEATURE, EXT2_ET_RO_UNSUPP_FEATURE), what e2fsck should look at first or is damaged (EUCLEAN),
 * and what has a hash tree of dm-verity after its end, which would no longer fit (EPERM).
 */
MUST_CHECK errcode_t target_examine(const struct update_options *options, struct update_target *target,
                                    struct problem *problem);

/* A second time it does nothing. */
void target_close(struct update_target *target);
