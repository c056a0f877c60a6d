/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides whether the image may be changed, before anything in it, the journal included, is written. */
#pragma once

#include "image/volume.h"
#include "update/build/options.h"

struct update_target {
	struct volume volume; /* read as if the journal had been replayed */
	bool is_open;         /* the volume */
	bool has_journal;     /* of its own */
	bool is_device;
};

/*
 * Opens the image for reading. Refuses an image that is mounted or in use (EBUSY), that has features unknown to this
 * code (EXT2_ET_UNSUPP_FEATURE, EXT2_ET_RO_UNSUPP_FEATURE), that is damaged or needs e2fsck first (EUCLEAN), or that
 * has a hash tree of dm-verity after its end, which would no longer fit (EPERM).
 */
MUST_CHECK errcode_t target_examine(const struct update_options *options, struct update_target *target,
                                    struct problem *problem);

/* A second call does nothing. */
void target_close(struct update_target *target);
