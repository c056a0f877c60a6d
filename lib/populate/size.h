/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How large the filesystem becomes. mke2fs itself is asked: how much of a size is left for content depends on
 * its options, features and configuration, and an empty filesystem in a sparse file costs it milliseconds.
 */
#ifndef POPULATE_SIZE_H
#define POPULATE_SIZE_H

#include "populate/build.h"
#include "populate/needs.h"
#include "populate/output.h"

/*
 * Leaves an empty filesystem in which the tree fits in the output's file: of the size that was asked for, or just
 * large enough. needs is counted for it. When a size was given and is too small, says by how much.
 */
MUST_CHECK errcode_t size_format(struct build *build, const struct output *output, struct needs *needs);

#endif
