/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What xattr values with inodes of their own (ea_inode) mean for quotas: each file that has one is charged for its
 * space and for an inode; for the shared inode itself no user is charged. tune2fs 1.47.0, which makes the quota
 * files, counts those inodes as files of the superuser instead.
 */
#pragma once

#include "populate/build/build.h"

/* Corrects the quota files of the closed filesystem. Does nothing without such values or quotas. */
MUST_CHECK errcode_t quota_charge_values(const struct build *build);
