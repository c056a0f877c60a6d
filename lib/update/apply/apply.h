/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out the actions of a plan, in transactions. */
#pragma once

#include "support/run/pool.h"
#include "update/build/actions.h"
#include "update/build/options.h"
#include "update/build/report.h"
#include "update/target/filesystem.h"

/*
 * Makes all changes in memory, but for the contents of files, and drops them: the filesystem is over then, and has to
 * be closed as after an error. Returns the errors that apply_plan() would return for an update in one transaction
 * (options->is_atomic), before anything is written. Inode numbers in the plan are those that apply_plan() will choose
 * again.
 */
MUST_CHECK errcode_t apply_rehearse(const struct update_options *options, struct update_plan *plan,
                                    struct update_filesystem *filesystem, struct pool *pool, struct problem *problem);

/*
 * After success all changes are on the disk. After an error the changes of earlier transactions are on the disk, and
 * the filesystem is whole. EXT2MB_ET_TRANSACTION_SIZE: options->is_atomic is set, and the update is more than one
 * transaction holds. Other errors: EXT2MB_ET_NO_SPACE, EINTR, errors of reading sources and of writing.
 */
MUST_CHECK errcode_t apply_plan(const struct update_options *options, struct update_plan *plan,
                                struct update_filesystem *filesystem, struct pool *pool, struct update_report *report,
                                struct problem *problem);
