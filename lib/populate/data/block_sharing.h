/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moves contents that this program need not read. If the image and a file of the source are on one filesystem that can
 * share blocks (XFS, btrfs), the image shares the file's blocks; otherwise the kernel copies them from file to file.
 * The image's bytes are the same as without it.
 */
#pragma once

#include "output/image_sink.h"
#include "populate/build/plan.h"
#include "populate/build/report.h"
#include "populate/build/workplace.h"
#include "tree/contents.h"

/* Bytes of a file, and the place in the image's file where they belong. */
struct block_transfer {
	int source;
	uint64_t from, to, bytes;
};

/* One worker's state. */
struct block_sharing {
	const struct plan *plan;
	const struct image_file *file; /* the image */
	bool is_off;
	uint64_t host_block_bytes; /* of the filesystem that the image is on; sharing is aligned to it */
	uint64_t least_bytes;      /* shorter runs are read and written with their neighbours */
	bool knows_device;         /* of the file that was met last: */
	uint64_t device;
	bool shares, copies;   /* its filesystem has not refused to */
	errcode_t refusal;     /* why the last filesystem shares nothing; 0: it does */
	uint64_t shared_bytes; /* so far */
};

/*
 * With REFLINK_ALWAYS, once the output is open and the format is known: checks whether blocks can be shared at all. The
 * problem names the obstacle: the image, its blocks, its offset, or an archive.
 */
MUST_CHECK errcode_t block_sharing_check(const struct plan *plan, const struct image_file *file,
                                         const struct workplace *work);

/* Can the filesystem that the image is on share blocks at all? */
bool block_sharing_is_possible(const struct image_file *file);

struct block_sharing block_sharing_create(const struct plan *plan, const struct image_file *file);

/*
 * Puts blocks of the reader's open file, or some of them, into the image. *moved is the part of `blocks` that was
 * moved; a count of 0: none. The caller reads the rest: all blocks if the kernel refuses, otherwise those that are not
 * aligned or do not fill a block. Fails only with REFLINK_ALWAYS, if an aligned run cannot be shared; the problem names
 * the file.
 */
MUST_CHECK errcode_t block_sharing_move(struct block_sharing *sharing, const struct content_reader *reader,
                                        uint32_t node, const struct file_extent *blocks, struct file_extent *moved,
                                        struct problem *problem);

/*
 * Shares all of the transfer, which is of `node` and perhaps further files, or nothing. Fails only with REFLINK_ALWAYS;
 * the problem names the node.
 */
MUST_CHECK errcode_t block_sharing_share(struct block_sharing *sharing, uint32_t node, const struct block_transfer *all,
                                         bool *is_shared, struct problem *problem);

/* Has the kernel copy all of the transfer. False: it has not, and the caller copies it. */
bool block_sharing_copy(struct block_sharing *sharing, const struct block_transfer *all);

/*
 * Adds a warning, if blocks of the layer cache could be shared but for something that the user can change: the image's
 * blocks, its offset, or where image and cache are. refusal: that of the files' filesystem; 0: it was not asked, or it
 * shares. ENOMEM.
 */
MUST_CHECK errcode_t block_sharing_warn(const struct plan *plan, const struct image_file *file, errcode_t refusal,
                                        struct warnings *warnings);
