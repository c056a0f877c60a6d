/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Uses libext2fs's filesystem: its orphans, while it is open for transactions. */
#include "update/target/orphans.h"

#include <errno.h>

#include "ondisk/inode_store.h"
#include "support/run/interrupt.h"
#include "support/vector.h"

#define WHY_BYTES 256u
/* A release logs these beside the bitmaps: inodes, xattr block, superblock, orphan file, quota. */
#define OTHER_BLOCKS 12u
#define BLOCKS_A_GROUP 3u

uint64_t orphans_most_logged(const struct update_filesystem *filesystem)
{
	return orphans_share_of(update_filesystem_log_room(filesystem));
}

uint64_t orphans_groups_in(uint64_t logged)
{
	return logged >= OTHER_BLOCKS + BLOCKS_A_GROUP ? (logged - OTHER_BLOCKS) / BLOCKS_A_GROUP : 1;
}

uint64_t orphans_most_groups(const struct update_filesystem *filesystem)
{
	return orphans_groups_in(orphans_most_logged(filesystem));
}

static errcode_t open_orphans(struct update_filesystem *filesystem, char *why)
{
	const struct ext2mb_orphan_options options = { .struct_bytes = sizeof(options), .mb = filesystem->mb };

	*why = '\0';
	return filesystem->orphans ? 0 :
	                             ext2mb_orphan_open(filesystem->fs, &options, why, WHY_BYTES, &filesystem->orphans);
}

static errcode_t note(struct update_filesystem *filesystem, uint32_t ino, uint32_t index)
{
	const struct pending_orphan orphan = { ino, index };

	return vector_add(&filesystem->pending, &filesystem->orphan_count, &filesystem->orphan_capacity, &orphan,
	                  sizeof(orphan));
}

errcode_t orphans_add(struct update_filesystem *filesystem, uint32_t ino)
{
	char why[WHY_BYTES];
	uint32_t index = 0;
	errcode_t error = open_orphans(filesystem, why);

	if (!error)
		error = ext2mb_orphan_add(filesystem->orphans, 0, ino, &index);
	return error ? error : note(filesystem, ino, index);
}

errcode_t orphans_remove(struct update_filesystem *filesystem, uint32_t ino)
{
	size_t at = 0;

	while (at < filesystem->orphan_count && filesystem->pending[at].ino != ino)
		at++;
	if (at == filesystem->orphan_count)
		return EXT2MB_ET_ORPHAN_ABSENT;
	errcode_t error = ext2mb_orphan_delete(filesystem->orphans, filesystem->pending[at].index, ino);

	if (!error)
		filesystem->pending[at] = filesystem->pending[--filesystem->orphan_count];
	return error;
}

/* --- Releasing ---------------------------------------------------------------------------------------------------- */

static errcode_t delete_in_steps(struct update_filesystem *filesystem, uint32_t ino)
{
	bool is_done = false;
	errcode_t error = 0;

	while (!error && !is_done) {
		update_filesystem_touch_inode(filesystem, ino);
		error = inode_release_shorten(&filesystem->release, ino, orphans_most_groups(filesystem), &is_done);
		if (!error && interrupt_pending())
			error = EINTR;
		if (!error && !is_done)
			error = update_filesystem_commit(filesystem);
		if (!error && !is_done)
			error = ext2mb_transaction_begin(filesystem->fs);
	}
	if (!error)
		error = inode_release_delete(&filesystem->release, ino);
	return error ? error : orphans_remove(filesystem, ino);
}

errcode_t orphans_release(struct update_filesystem *filesystem)
{
	errcode_t error = 0;

	while (!error && filesystem->orphan_count) {
		error = ext2mb_transaction_begin(filesystem->fs);
		if (!error)
			error = delete_in_steps(filesystem, filesystem->pending[0].ino);
		if (!error)
			error = update_filesystem_commit(filesystem);
	}
	return error;
}

/* --- Those of before ---------------------------------------------------------------------------------------------- */

/* Notes the orphans, and which of them have links: those are truncated, and no update has made them. */
static errcode_t note_old(struct update_filesystem *filesystem, bool *has_links)
{
	struct block_access *access = &filesystem->access.access;
	SCOPE_FREE uint8_t *raw = malloc(access->format->inode_bytes);
	struct inode_decoded inode;
	errcode_t error = raw ? 0 : ENOMEM;
	uint32_t index = 0, ino;

	*has_links = false;
	while (!error && (ino = ext2mb_orphan_next(filesystem->orphans, &index))) {
		error = inode_store_read(access, ino, raw, &inode);
		if (!error)
			error = inode_release_was_done(&inode, index) ?
			                ext2mb_orphan_delete(filesystem->orphans, index, ino) :
			                note(filesystem, ino, index);
		*has_links |= !error && inode.value.links;
		index++;
	}
	return error;
}

static errcode_t release_at_once(struct update_filesystem *filesystem, char *why)
{
	ext2_filsys fs = filesystem->fs;
	const time_t now = fs->now;

	filesystem->orphan_count = 0;
	fs->now = (time_t)update_filesystem_deletion_time(fs);
	errcode_t error = ext2mb_orphan_release(filesystem->orphans, NULL, why, WHY_BYTES);

	fs->now = now;
	return error ? error : update_filesystem_commit(filesystem);
}

errcode_t orphans_release_old(struct update_filesystem *filesystem, const char *image, struct problem *problem)
{
	const struct ext2_super_block *super = filesystem->fs->super;
	char why[WHY_BYTES] = "";
	bool has_links;

	if (!super->s_last_orphan && !(super->s_feature_ro_compat & EXT4_FEATURE_RO_COMPAT_ORPHAN_PRESENT))
		return 0;
	errcode_t error = open_orphans(filesystem, why);

	if (!error)
		error = note_old(filesystem, &has_links);
	if (!error)
		error = update_filesystem_commit(filesystem);
	if (!error)
		error = has_links ? release_at_once(filesystem, why) : orphans_release(filesystem);
	return error ? problem_set_reason(problem, error, image, "cannot release files that were deleted", "%s",
	                                  *why ? why : error_message(error)) :
	               0;
}
