/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Dropping inodes within a step: all that an inode owns goes free, its quota is given back, and the inode itself goes
 * free or stays for new contents. Blocks and inode numbers go free through the block_access; the allocator of
 * ext2mb_open() hands out no such block before the next commit. Each block of an inode table, xattr block, map or
 *bitmap is written through the block_access, so it is part of the step. One thread.
 *
 * A step that drops files:
 *
 *	ext2mb_transaction_begin(fs);
 *	... the names are removed ...
 *	inode_release_delete(&release, ino);            for each
 *	quota_changes_apply(&changes, &access, ...);    last
 *	ext2mb_transaction_end(fs);
 *
 * An inode whose blocks lie in so many groups that a step could not hold their bitmaps (inode_release_measure()) is
 * added to the orphans in the step that removes its last name, with i_links_count 0: ext2mb_orphan_add(), and
 * ext2mb_orphan_sync() in the same step, which also sets ORPHAN_PRESENT; the superblock is written with each commit.
 * Then steps of inode_release_shorten() follow, and last one step of inode_release_delete(), ext2mb_orphan_delete()
 * and ext2mb_orphan_sync(). After a crash in between, a mount, e2fsck or ext2mb_orphan_release() goes on. Its quota is
 * charged until it is released, as in the kernel.
 *
 * Replacing a file's contents: inode_release_contents() frees what the inode owns and takes its charge back; the caller
 * writes the new inode with the same number, and charges that. A number that is used again gets another generation,
 * and all checksums that depend on it change: see ondisk/inode_change.h.
 */
#pragma once

#include "ext2fs/ext2mb.h"
#include "ondisk/block_access.h"
#include "ondisk/map_cut.h"
#include "ondisk/quota_change.h"

struct inode_release {
	struct block_access *access;
	struct quota_changes *changes; /* NULL: the filesystem has no quota */
	uint32_t now;                  /* the i_dtime of deleted inodes: seconds since 1970, not 0 */
	uint64_t blocks;               /* freed so far */
	uint64_t inodes;               /* deleted so far, those of xattr values included */
};

/* What releasing an inode would write, as far as it depends on the inode. */
struct inode_release_need {
	uint64_t blocks;     /* that go free */
	uint64_t groups;     /* of these blocks: block bitmaps */
	uint64_t log_blocks; /* the most that a commit would log: bitmaps, descriptors, inodes, xattr block, quota */
};

/*
 * Has the orphan with this index been released already? e2fsck's replay of a journal (1.47, -E journal_only) releases
 * the orphans, too, but leaves their entries in the orphan file. An orphan there has no time of deletion; on the list
 * it has the next one's number in its place.
 */
static inline bool inode_release_was_done(const struct inode_decoded *inode, uint32_t index)
{
	return index < EXT2MB_ORPHAN_ON_LIST && !inode->value.links && inode->deletion_time;
}

/*
 * All of these: EXT2MB_ET_ORPHAN_INODE: the inode is not in use, or damaged, or owns what cannot be its own; nothing
 * has been changed. ENOMEM, errors in reading. Other errors, of writing and of the allocator, leave it half released:
 * the step must not be committed.
 */

/* Reads all of the inode's map, changes nothing. */
MUST_CHECK errcode_t inode_release_measure(struct inode_release *release, ext2_ino_t ino,
                                           struct inode_release_need *need);

/*
 * Deletes an inode, whatever its number of links: its blocks; its reference to an xattr block, which goes free with
 * the last one; its references to inodes of xattr values (ea_inode), each of which goes free with its last one. The
 * inode gets no links, size, map and blocks, and its deletion time.
 */
MUST_CHECK errcode_t inode_release_delete(struct inode_release *release, ext2_ino_t ino);

/* The same, but the inode stays in use and its bytes as they are: the caller writes it anew, in this step. */
MUST_CHECK errcode_t inode_release_contents(struct inode_release *release, ext2_ino_t ino);

/*
 * The same, but the blocks that would go free stay in use: they are the caller's, to give them to another inode, which
 * it charges for them. *blocks is freed with block_list_free(), also after an error.
 */
MUST_CHECK errcode_t inode_release_take(struct inode_release *release, ext2_ino_t ino, struct block_list *blocks);

/*
 * Drops only its xattrs: its references to an xattr block and to inodes of values. The inode's bytes say so afterwards,
 * and value.blocks; those xattrs that lie in the inode are still there, for the caller to write over. All of its charge
 * is taken back, as by inode_release_contents(): the caller charges what it becomes.
 */
MUST_CHECK errcode_t inode_release_xattrs(struct inode_release *release, ext2_ino_t ino);

/*
 * Truncates an inode to its size, as a mount does with orphans that have links, and clears the rest of its last block.
 * Not if it has fs-verity: the hash tree lies after the size.
 */
MUST_CHECK errcode_t inode_release_truncate(struct inode_release *release, ext2_ino_t ino);

/*
 * Frees blocks at the end of an inode's contents that lie in about so many groups, or a little more, and sets *is_done
 * if the rest does not lie in more: then inode_release_delete() follows. most_groups is at least 1.
 */
MUST_CHECK errcode_t inode_release_shorten(struct inode_release *release, ext2_ino_t ino, uint64_t most_groups,
                                           bool *is_done);
