/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A copy of the image, which is changed instead of it and then takes its name: for filesystems without a journal, and
 * for those that have to grow. It shares blocks with the image where the host can do that (XFS, btrfs). The image
 * stays as it is until then.
 */
#pragma once

#include "populate/output/output.h"
#include "update/build/options.h"

struct working_copy {
	struct output output;
	const char *path; /* of the copy, for this process and its children; NULL: there is none */
};

/* Copies the image; holes stay holes. EBUSY: another program uses the image by another name. */
MUST_CHECK errcode_t working_copy_make(const struct update_options *options, struct working_copy *copy,
                                       struct problem *problem);

/*
 * Makes the filesystem in the copy larger, with resize2fs(8), whose clock stands still at `now`. It needs no recovery.
 */
MUST_CHECK errcode_t working_copy_grow(const struct update_options *options, const struct working_copy *copy,
                                       uint64_t blocks, int64_t now, struct problem *problem);

/* Gives the copy the image's name. */
MUST_CHECK errcode_t working_copy_finish(struct working_copy *copy, struct problem *problem);

/* Removes it, unless it has been finished. Does nothing to what is all zeros. */
void working_copy_close(struct working_copy *copy);
