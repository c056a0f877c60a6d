/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out a plan: in the image itself, or in a copy that takes its name. */
#pragma once

#include "image/delta.h"
#include "support/run/pool.h"
#include "update/build/actions.h"
#include "update/build/options.h"
#include "update/build/report.h"
#include "update/target/examine.h"

/*
 * Is anything to be done, but for the room that --free wants? Files without names may be what is left of this update,
 * if a crash has ended it: then it is not finished yet.
 */
bool update_has_work(const struct update_plan *plan, const struct update_target *target);

/*
 * In a dry run only the report says what the image lacks and by how much it would grow. May close the target and the
 * older image, with which the result is compared (target/against.h). Errors name the image, or the file that causes
 * them.
 */
MUST_CHECK errcode_t carry_out(const struct update_options *options, struct update_plan *plan,
                               struct update_target *target, struct delta_old *old, struct pool *pool,
                               struct update_report *report, struct problem *problem);
