/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changes of usage, collected while a step goes on, and written into the quota files at its end. (The other end of
 * usage_by_id.h: populate/metadata/quota.h writes whole files.)
 *
 * How ext4 charges: an inode's owner, its group and its project are each charged with value.blocks of it, in bytes,
 * and with one inode, and one inode more for each xattr value in an inode of its own that it refers to, in the inode
 * or in its xattr block, shared or not. (value.blocks has the clusters of these values and of the xattr block
 * already.) Inodes of values (EXT4_EA_INODE_FL), reserved inodes except the root, and the quota and orphan files are
 * charged to no one. So the kernel and e2fsck count.
 */
#pragma once

#include "ondisk/block_access.h"
#include "ondisk/inode.h"
#include "ondisk/usage_by_id.h"

/* Zero-initialise. One thread. */
struct quota_changes {
	struct usage_by_id types[QUOTA_TYPES]; /* differences, modulo 2^64 */
};

/* Adds to the usage of one owner; negative numbers subtract. ENOMEM. */
MUST_CHECK errcode_t quota_changes_add(struct quota_changes *changes, enum quota_type type, uint32_t id, int64_t inodes,
                                       int64_t space_bytes);

/* The same for user, group and project of an inode. */
MUST_CHECK errcode_t quota_changes_charge(struct quota_changes *changes, const struct ondisk_format *format,
                                          const struct inode_value *owner, int64_t inodes, int64_t blocks);

/*
 * Writes the changes into the quota files, by ascending id, and forgets them; last in a step. quota_inodes: inode
 * numbers as in the superblock (s_usr_quota_inum ...); 0: the filesystem has no quota of that type, and its changes
 * are dropped. A file that grows gets blocks from access->alloc. Writes only blocks of the quota files and their
 * inodes. EUCLEAN: a quota file, its map or its inode is damaged, and *damaged (may be NULL) its inode number; ENOMEM,
 * errors in reading, writing and allocating. After an error the step must not be committed.
 */
MUST_CHECK errcode_t quota_changes_apply(struct quota_changes *changes, struct block_access *access,
                                         const uint32_t quota_inodes[QUOTA_TYPES], uint32_t *damaged);

/* How many blocks quota_changes_apply() would write at most. */
uint64_t quota_changes_most_blocks(const struct quota_changes *changes);

void quota_changes_free(struct quota_changes *changes);
