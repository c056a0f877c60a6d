/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/inode.h"

#include <string.h>
#include <sys/stat.h>

static bool was_written(const struct volume *volume, uint32_t ino)
{
	uint32_t per_group = volume->geometry.inodes_per_group;

	return (ino - 1) % per_group < volume->group[(ino - 1) / per_group].inodes_used;
}

errcode_t volume_inode_decode(const struct volume *volume, uint32_t ino, void *raw, struct volume_inode *inode)
{
	inode_view_read(&volume->format, raw, &inode->view);
	if (!was_written(volume, ino)) {
		memset(raw, 0, volume->format.inode_bytes);
		inode_view_read(&volume->format, raw, &inode->view);
	} else if (!inode_checksum_fits(&volume->format, ino, raw)) {
		return EXT2_ET_INODE_CSUM_INVALID;
	}
	inode->ino = ino;
	inode->raw = raw;
	inode_decode(&volume->format, raw, &inode->all);
	return 0;
}

errcode_t volume_inode_read(const struct volume *volume, uint32_t ino, void *raw, struct volume_inode *inode)
{
	errcode_t error = volume_read_inode(volume, ino, raw, &inode->view);

	return error ? error : volume_inode_decode(volume, ino, raw, inode);
}

bool volume_inode_has_map(const struct volume_inode *inode)
{
	const struct inode_view *view = &inode->view;

	if (view->flags & EXT4_INLINE_DATA_FL)
		return false;
	if (S_ISLNK(view->mode))
		return inode->all.value.size_bytes > INODE_FAST_SYMLINK_BYTES || (view->flags & EXT4_EXTENTS_FL);
	return S_ISREG(view->mode) || S_ISDIR(view->mode);
}
