/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of the image that the sources are laid over. */
#pragma once

#include "image/volume.h"
#include "update/build/actions.h"
#include "update/build/options.h"

/*
 * Directories on the way to plan->base that the image lacks become directories of the plan's tree, and base the last
 * one that is there; *is_new: there are some. A warning says so, if the user may have meant another name. ENOTDIR:
 * something else is in the way, also a symbolic link; ENAMETOOLONG, ENOMEM, errors in reading.
 */
MUST_CHECK errcode_t into_find(const struct update_options *options, const struct volume *volume,
                               struct update_plan *plan, struct warnings *warnings, bool *is_new,
                               struct problem *problem);
