/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves the contents of regular files into their blocks. */
#pragma once

#include "contents/zero_detection.h"
#include "output/image_sink.h"
#include "populate/build/plan.h"
#include "populate/build/workplace.h"

/* The findings of copying. */
struct copy_findings {
	struct zero_runs zeros; /* clusters that hold only zeros, in the order of the tree, without those above
	                           RUN_WRITER_BYTES, which no worker sees whole; owned */
	uint64_t shared_bytes;  /* of contents in blocks that the image shares with its source */
	errcode_t refusal;      /* why the filesystem of layers' packs shares none; 0: it does, or was not asked */
};

/*
 * Copies everything that has blocks. Contents of packs are moved in runs (populate/data/content_runs.h), other small
 * files are gathered into large writes, large ones are cut into slices that workers share. A file that has become
 * shorter since it was scanned is an error (EIO). reads_last: later stages read no contents except inline data, so
 * unpacked data is dropped once it is copied. Files' flags are recorded in the placements, see
 * populate/metadata/flags.h.
 */
MUST_CHECK errcode_t copy_files(const struct plan *plan, struct image_file *file, const struct workplace *work,
                                bool reads_last, struct copy_findings *found);
