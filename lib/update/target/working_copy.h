/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A copy of the image, for filesystems without a journal and for those that have to grow. The update changes the copy,
 * which then takes the image's name. The copy shares blocks with the image where the host can do that (XFS, btrfs).
 * Until then the image stays as it is.
 */
#pragma once

#include "output/output.h"
#include "update/build/options.h"

struct working_copy {
	struct output output;
	const char *path; /* the copy's path, for this process and its children; NULL: there is no copy */
};

/* Copies the image; holes stay holes. EBUSY: another program uses the image under another name. */
MUST_CHECK errcode_t working_copy_make(const struct update_options *options, struct working_copy *copy,
                                       struct problem *problem);

/*
 * Enlarges the filesystem in the copy with resize2fs(8), whose clock stands still at `now`. The filesystem needs no
 * recovery.
 */
MUST_CHECK errcode_t working_copy_grow(const struct update_options *options, const struct working_copy *copy,
                                       uint64_t blocks, int64_t now, struct problem *problem);

/* Gives the copy the image's name. */
MUST_CHECK errcode_t working_copy_finish(struct working_copy *copy, struct problem *problem);

/* Removes the copy, unless it has been finished. A struct of zeros is left alone. */
void working_copy_close(struct working_copy *copy);
