/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Uses libext2fs's filesystem; see the header. */
#include "orphan/fs_orphan_release.h"

#include <errno.h>

#include "allocator/fs/fs_state.h"
#include "allocator/group/group.h"
#include "ondisk/inode_store.h"
#include "orphan/fs_orphan.h"

/* An inode that has been allocated since the descriptors were written counts as written. */
static void raise_written(struct fs_access *access, const struct ext2mb *mb)
{
	for (uint32_t group = 0; group < mb->geometry.groups; group++) {
		uint32_t unused = mb->groups[group].inodes.unused_inodes;
		uint32_t written = mb->geometry.inodes_per_group - unused;

		if (unused <= mb->geometry.inodes_per_group && written > access->written[group])
			access->written[group] = written;
	}
}

static errcode_t open_access(struct orphan_release *release, struct ext2mb *mb, struct ext2mb_worker *worker)
{
	const struct fs_access_parts parts = {
		.fs = mb->fs_state->fs,
		.mb = mb,
		.worker = worker,
		.format = &release->format,
		.geometry = &mb->geometry,
		.zones = &mb->fs_state->zones,
		.suspect = mb->fs_state->suspect,
	};

	if (ondisk_format_read(parts.fs->super, &release->format))
		return EXT2MB_ET_BAD_GEOMETRY;
	errcode_t error = fs_access_open(&release->access, &parts);

	if (!error)
		raise_written(&release->access, mb);
	return error;
}

errcode_t orphan_release_begin(struct orphan_release *release, struct ext2mb *mb)
{
	ext2_filsys fs = mb->fs_state->fs;
	struct ext2mb_worker *worker;

	*release = (struct orphan_release){ 0 };
	if (!(fs->flags & EXT2_FLAG_RW))
		return EXT2_ET_RO_FILSYS;
	errcode_t error = ext2mb_worker_open(mb, &worker);

	if (error)
		return error;
	error = open_access(release, mb, worker);
	if (error) {
		ext2mb_worker_close(worker);
		return error;
	}
	fs_access_quota_inodes(fs, release->quota_inodes);
	release->release = (struct inode_release){
		.access = &release->access.access,
		.changes = ext2fs_has_feature_quota(fs->super) ? &release->changes : NULL,
		.now = fs_orphan_now(fs),
	};
	return 0;
}

errcode_t orphan_release_end(struct orphan_release *release, const struct orphan_message *why)
{
	uint32_t damaged = 0;
	errcode_t error =
		quota_changes_apply(&release->changes, &release->access.access, release->quota_inodes, &damaged);

	if (error == EUCLEAN) {
		orphan_message_say(why, "inode %u, a quota file", damaged);
		error = EXT2MB_ET_QUOTA_FILE;
	}
	ext2mb_worker_close(release->access.parts.worker);
	fs_access_close(&release->access);
	return error;
}

static errcode_t read_inode(struct orphan_release *release, ext2_ino_t ino, struct inode_decoded *inode)
{
	struct block_access *access = &release->access.access;
	SCOPE_FREE void *raw = malloc(access->format->inode_bytes);

	if (!raw)
		return ENOMEM;
	errcode_t error = inode_store_read(access, ino, raw, inode);

	return error == EXT2_ET_BAD_INODE_NUM || error == EXT2_ET_INODE_CSUM_INVALID ? EXT2MB_ET_ORPHAN_INODE : error;
}

errcode_t orphan_release_inode(struct orphan_release *release, ext2_ino_t ino, uint32_t index)
{
	struct inode_decoded inode = { 0 };
	errcode_t error = read_inode(release, ino, &inode);
	uint32_t links = inode.value.links;

	if (!error && inode_release_was_done(&inode, index))
		return 0;
	if (!error)
		error = links ? inode_release_truncate(&release->release, ino) :
		                inode_release_delete(&release->release, ino);
	release->counts.blocks = release->release.blocks;
	if (error)
		return error;
	if (links)
		release->counts.truncated++;
	else
		release->counts.deleted++;
	return 0;
}
