/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quota files. mke2fs makes them for the empty filesystem; when it has been filled, tune2fs(8) makes them anew,
 * since the library that knows their form is not among those that e2fsprogs install.
 */
#ifndef POPULATE_QUOTA_H
#define POPULATE_QUOTA_H

#include "populate/build.h"
#include "populate/output/output.h"

#define QUOTA_TYPES 3

/* Which of user, group and project quota there are: bits 1 << USRQUOTA and so on of <sys/quota.h>. */
unsigned int quota_types(const struct ext2_super_block *super);

/* Users, groups and projects of the tree, counted from above. Walks all nodes. */
uint64_t quota_most_owners(const struct build *build);

/* Blocks that the quota files of so many owners may take beyond mke2fs's own. */
uint64_t quota_most_blocks(uint64_t owners, const struct ondisk_format *format);

/* Counts all files' usage into new quota files. The filesystem is closed. */
MUST_CHECK errcode_t quota_rebuild(const struct populate_options *options, const struct output *output,
                                   unsigned int types, struct problem *problem);

#endif
