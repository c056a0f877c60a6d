/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The comparison of the updated image with an older one (image/delta.h). */
#pragma once

#include "image/delta.h"
#include "update/build/options.h"

/*
 * Opens options->against, if the user gave it: before anything is changed, since it may be missing, and it may be the
 * file that a copy replaces. EINVAL: it is what is changed in place, so nothing would differ.
 */
MUST_CHECK errcode_t against_open(const struct update_options *options, struct delta_old *old, struct problem *problem);
void against_close(struct delta_old *old);

/*
 * Compares path, which is the image or the copy that is to take its name, with the older image, and closes that: no
 * descriptor of this program may keep open the file that is replaced. Does nothing if none is open.
 */
MUST_CHECK errcode_t against_compare(const struct update_options *options, const char *path, struct pool *pool,
                                     struct delta_old *old, struct delta *delta, struct problem *problem);
