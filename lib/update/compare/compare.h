/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares a tree with an image, by path, and lists the actions after which the image has the whole tree. */
#pragma once

#include "image/volume.h"
#include "support/run/pool.h"
#include "update/build/actions.h"
#include "update/build/options.h"
#include "update/build/report.h"

/*
 * The caller sets plan->tree; this fills in the rest. It reads those directories of the image that the tree has names
 * in, and the inodes of these names. With options->mirrors it reads everything below the tree's root, and with
 * options->compares_bytes also contents. Errors: EUCLEAN (the image is damaged: nothing has been written), EOPNOTSUPP
 * (an encrypted directory), ENOENT and ENOTDIR (options->into), EINTR, ENOMEM, errors in reading. The problem names the
 * path.
 */
MUST_CHECK errcode_t compare_with_image(const struct update_options *options, const struct volume *volume,
                                        struct pool *pool, struct update_plan *plan, struct update_report *report,
                                        struct problem *problem);
