/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The empty filesystem that mke2fs made, opened: the one file of this folder that touches libext2fs's state.
 * Main thread only.
 */
#pragma once

#include "ondisk/format.h"
#include "output/image_sink.h"
#include "populate/build/open_filesystem.h"
#include "populate/build/scanned.h"
#include "populate/build/workplace.h"

/* Room of a filesystem, for choosing a size. */
struct filesystem_room {
	struct ondisk_format format;
	uint64_t blocks;
	uint64_t free_blocks; /* those of mke2fs's root directory included: it is built anew */
	uint64_t free_inodes;
	uint64_t reserved_blocks;   /* for the superuser */
	uint64_t lost_found_blocks; /* of mke2fs's lost+found, free where the tree brings its own */
	bool has_mmp;               /* the feature is on */
	uint64_t orphan_blocks;     /* of the orphan file */
	uint64_t journal_blocks;    /* of one inside the filesystem */
	uint32_t blocks_per_group;
	uint32_t inodes;
};

/* Reads what mke2fs made in the image, without changing it. */
MUST_CHECK errcode_t filesystem_look(const char *path, uint64_t offset_bytes, const char *image_path,
                                     struct filesystem_room *room, struct problem *problem);

/* Puts what it is to have of another one into the superblock that mke2fs made, and into its copies. */
MUST_CHECK errcode_t filesystem_make_like(const char *path, uint64_t offset_bytes, const struct likeness *like,
                                          const struct populate_options *options, struct problem *problem);

/* Opens it for building; *filesystem is all 0, or was closed. Nothing of the image changes. */
MUST_CHECK errcode_t filesystem_open(const struct image_file *file, const struct workplace *work,
                                     struct filesystem *filesystem);

/*
 * Frees what is made anew of mke2fs's own: the blocks of the root directory and of quota files (quota_write()), and
 * lost+found, if the tree brings one. The tree's root gets the owner that mke2fs gave it, where -E root_owner says so.
 */
MUST_CHECK errcode_t filesystem_empty(struct filesystem *filesystem, const struct scanned *source,
                                      const struct workplace *work);

/* Opens the one that begins there; flags besides those that are always set. The caller frees it with ext2fs_free(). */
MUST_CHECK errcode_t filesystem_open_at(const char *path, uint64_t offset_bytes, int flags, ext2_filsys *fs);

/* Opens the image, for writing; the caller frees it with ext2fs_free(). *fs is NULL after an error. */
MUST_CHECK errcode_t filesystem_open_image(const struct image_file *file, const struct workplace *work,
                                           ext2_filsys *fs);

/* Runs a program of e2fsprogs on the closed filesystem; arguments and action as for child_run(). */
MUST_CHECK errcode_t filesystem_run(const struct image_file *file, const struct workplace *work,
                                    const char *const *arguments, const char *action);

/*
 * Sets the features that the tree needs; writes bitmaps, descriptors, and the superblock last. The caller closes the
 * filesystem, after an error too.
 */
MUST_CHECK errcode_t filesystem_finish(struct filesystem *filesystem, const struct scanned *source, bool in_place,
                                       const struct workplace *work);

/*
 * After all else, and after filesystem_close(): in the block that guards against multiple mounts (feature mmp) there is
 * neither the host's name nor the temporary file's, nor, with SOURCE_DATE_EPOCH, the time of the build.
 */
MUST_CHECK errcode_t filesystem_reset_mmp(const struct filesystem *filesystem, const struct image_file *file,
                                          const struct workplace *work);

/* Closes without writing; does nothing if it is not open. */
void filesystem_close(struct filesystem *filesystem);

/* Has it the features of another one, but for those that mounts and contents set? */
bool filesystem_has_features_of(const struct filesystem *filesystem, const struct ext2_super_block *other);
