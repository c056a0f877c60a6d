/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inode numbers in tree order, packed from the first free one, so that the files of a directory are
 * neighbours in the inode table and only as much of it as is needed is ever written.
 */
#pragma once

#include "populate/build/open_filesystem.h"
#include "populate/build/plan.h"
#include "populate/build/workplace.h"

/* Fills in the numbers of placements and xattr values, and items_by_inode. */
MUST_CHECK errcode_t inode_numbers_assign(struct plan *plan, const struct filesystem *filesystem,
                                          const struct workplace *work);
