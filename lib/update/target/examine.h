/* SPDX-License-Identifier: GPL-2.0-or-later */
/* May the image be changed? Answered before anything of it is written, its journal included. */
#pragma once

#include <time.h>

#include "image/volume.h"
#include "update/build/options.h"
#include "update/target/appended_tree.h"

struct update_target {
	struct volume volume; /* as if the journal had been replayed */
	bool is_open;         /* the volume */
	struct appended_tree tree;
	bool has_journal; /* of its own */
	bool is_device;
	int lock_descriptor;      /* has the image alone by flock(2); -1: none */
	int exclusive_descriptor; /* has a device alone by O_EXCL; -1: none */
	errcode_t lock_error;     /* why it has not; 0: it has, or locks do not work there */
	struct timespec changed;  /* a file's time of its last change, when it was locked */
};

/*
 * Locks the image, so that it stays as it is, and opens it for reading. Refuses what is mounted or in use (EBUSY), what
 * has features that this code does not know (EXT2_ET_UNSUPP_FEATURE, EXT2_ET_RO_UNSUPP_FEATURE), what e2fsck should
 * look at first or is damaged (EUCLEAN; a journal that the kernel has aborted is replayed, and the filesystem marked),
 * and what has a hash tree of dm-verity after its end, which would no longer fit (EPERM), unless it is to be made anew.
 */
MUST_CHECK errcode_t target_examine(const struct update_options *options, struct update_target *target,
                                    struct problem *problem);

/* EBUSY if a file has been changed or replaced since it was examined: then what was read of it is stale. */
MUST_CHECK errcode_t target_check(const struct update_options *options, const struct update_target *target,
                                  struct problem *problem);

/*
 * Replays the journal, if need be, while the lock is held: a handle for transactions would do it after it has locked
 * the image itself, and what another program does in between could not be told from the replay. EXT2MB_ET_REPLAY.
 */
MUST_CHECK errcode_t target_replay(const struct update_options *options, struct update_target *target,
                                   struct problem *problem);

/* After writes of our own: what target_check() compares from now on. Errors of fstat(2). */
MUST_CHECK errcode_t target_note_change(struct update_target *target);

/* EBUSY if the filesystem has been mounted since it was examined. super: as it is now. */
MUST_CHECK errcode_t target_check_mounts(const struct update_options *options, const struct update_target *target,
                                         const struct ext2_super_block *super, struct problem *problem);

/*
 * Lets a handle for transactions take the lock, which it wants for itself; others may take it before that handle does,
 * so target_check() is called again afterwards. A device stays closed to others.
 */
void target_unlock(const struct update_target *target);

/* A second time it does nothing. */
void target_close(struct update_target *target);
