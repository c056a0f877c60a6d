/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Zeros of new contents become holes. */
#pragma once

#include "image/volume.h"
#include "support/run/pool.h"
#include "update/build/actions.h"
#include "update/build/options.h"

/*
 * Makes long zeros of the files that the plan writes holes of its tree, as e2populate does
 * (contents/zero_detection.h), unless options->zeros_of_source is set. Reads a few bytes of every 64 KiB of them.
 * Before anything is placed or counted. Errors of reading, ENOMEM, EINTR.
 */
MUST_CHECK errcode_t holes_find(const struct update_options *options, struct update_plan *plan,
                                const struct volume *volume, struct pool *pool, struct problem *problem);
