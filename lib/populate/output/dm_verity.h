/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --dm-verity: the hash tree that dm-verity checks the filesystem by, in a file of its own or after the filesystem, as
 * veritysetup(8) format makes it. Main thread only; functions are called in the order in which they stand here.
 */
#pragma once

#include "ondisk/dm_verity.h"
#include "output/dm_verity_tree.h"
#include "output/image_sink.h"
#include "output/output.h"
#include "populate/build/report.h"
#include "populate/build/scanned.h"
#include "populate/build/workplace.h"
#include "populate/format/filesystem.h"

/* All zeros but for the output's descriptor, which is -1, until dm_verity_examine(). */
struct dm_verity {
	struct output output; /* the file of the hashes; unused where they follow the filesystem */
	struct dm_verity_tree tree;
	struct dm_verity_value value; /* the superblock's */
	uint64_t offset_bytes;        /* of the superblock, in the file that has it */
	uint64_t most_bytes;          /* where that file ends if it is a device; else 0 */
	bool is_open;
	struct leaf_hashes leaves;
	char root_digits[2 * HASH_TREE_MOST_DIGEST_BYTES + 1];
};

/*
 * Looks at the file of the hashes, which must be neither the image nor that of the root hash. Where the hashes are to
 * follow a filesystem that would fill what is written in place, its size is made less.
 */
MUST_CHECK errcode_t dm_verity_examine(struct dm_verity *verity, const struct workplace *work, struct output *image);

/* Once the filesystem's size is known, for each attempt: how large the tree becomes. */
MUST_CHECK errcode_t dm_verity_lay_out(struct dm_verity *verity, const struct identity *identity,
                                       const struct filesystem_room *room, const struct workplace *work,
                                       struct populate_report *report);

/* For each attempt, once the empty filesystem is there: data that are written to the image from now on are hashed. */
MUST_CHECK errcode_t dm_verity_begin(struct dm_verity *verity, struct image_file *image, const struct workplace *work);

/* Nothing of the filesystem changes any more: writes the tree, the superblock last, and reports the root hash. */
MUST_CHECK errcode_t dm_verity_write(struct dm_verity *verity, const struct workplace *work,
                                     struct populate_report *report);

/* Gives the image, the file of the hashes and that of the root hash their names, the image last. */
MUST_CHECK errcode_t dm_verity_finish(struct dm_verity *verity, struct output *image, const struct workplace *work);

void dm_verity_release(struct dm_verity *verity);
