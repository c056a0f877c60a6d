/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out the actions of a plan, in transactions. */
#pragma once

#include "support/run/pool.h"
#include "update/build/actions.h"
#include "update/build/options.h"
#include "update/build/report.h"
#include "update/target/filesystem.h"

/*
 * After success all of it is on the disk. After an error what earlier transactions did is, and the filesystem is
 * whole. EXT2MB_ET_TRANSACTION_SIZE: with options->is_atomic, it is more than one transaction holds;
 * EXT2MB_ET_NO_SPACE, EINTR, errors of reading sources and of writing.
 */
MUST_CHECK errcode_t apply_plan(const struct update_options *options, struct update_plan *plan,
                                struct update_filesystem *filesystem, struct pool *pool, struct update_report *report,
                                struct problem *problem);
