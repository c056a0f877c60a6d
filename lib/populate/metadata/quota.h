/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quota files. mke2fs makes them for the empty filesystem; when it has been filled, tune2fs(8) makes them anew,
 * since the library that knows their form is not among those that e2fsprogs install.
 */
#pragma once

#include "populate/build/build.h"

/* Counts all files' usage into new quota files. The filesystem is closed. */
MUST_CHECK errcode_t quota_rebuild(const struct build *build);

/*
 * Corrects those files for xattr values with inodes of their own (ea_inode): each file that has one is charged for its
 * space and for an inode; for the shared inode itself no user is charged. tune2fs 1.47.0 counts those inodes as files
 * of the superuser instead. Does nothing without such values or quotas.
 */
MUST_CHECK errcode_t quota_charge_values(const struct build *build);
