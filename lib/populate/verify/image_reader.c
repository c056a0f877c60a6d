// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/verify/image_reader.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <ext2fs/ext2fs.h>

#include "ext2fs/fs/fs_errors.h"
#include "populate/build/extent_map.h"

struct image_reader {
	ext2_filsys fs;
	struct extent_list runs;
	errcode_t error; /* of collecting them */
};

errcode_t image_reader_open(const char *path, struct image_reader **ret)
{
	struct image_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return ENOMEM;
	errcode_t error = fs_open(path, NULL, EXT2_FLAG_64BITS | EXT2_FLAG_SKIP_MMP, &reader->fs);

	if (error)
		image_reader_close(TAKE(reader));
	*ret = reader;
	return error;
}

void image_reader_close(struct image_reader *reader)
{
	if (!reader)
		return;
	if (reader->fs)
		ext2fs_free(reader->fs);
	free(reader->runs.extents);
	free(reader);
}

static void read_time(const struct ext2_inode_large *inode, bool has_extra, struct image_inode *value)
{
	/* The lower two bits extend the seconds beyond 32 bits. */
	uint32_t extra = has_extra ? inode->i_mtime_extra : 0;

	value->mtime_seconds = (int32_t)inode->i_mtime + ((int64_t)(extra & 3) << 32);
	value->mtime_nanoseconds = extra >> 2;
}

static void read_device(const struct ext2_inode_large *inode, struct image_inode *value)
{
	/* The old form, of 16 bits, or the new one, of 32, in the word after it. */
	dev_t device = inode->i_block[0];

	if (inode->i_block[0]) {
		value->major = (uint32_t)(device >> 8) & 0xff;
		value->minor = (uint32_t)device & 0xff;
		return;
	}
	device = inode->i_block[1];
	value->major = (uint32_t)(device >> 8) & 0xfff;
	value->minor = ((uint32_t)device & 0xff) | ((uint32_t)(device >> 12) & 0xfff00);
}

errcode_t image_reader_inode(struct image_reader *reader, uint32_t ino, struct image_inode *value)
{
	struct ext2_inode_large inode = { 0 };
	errcode_t error = ext2fs_read_inode_full(reader->fs, ino, (struct ext2_inode *)&inode, sizeof(inode));

	if (error)
		return error;
	*value = (struct image_inode){
		.mode = inode.i_mode,
		.uid = inode_uid(inode),
		.gid = inode_gid(inode),
		.links = inode.i_links_count,
		.size_bytes = EXT2_I_SIZE(&inode),
		.project = ext2fs_has_feature_project(reader->fs->super) ? inode.i_projid : 0,
		.flags = inode.i_flags,
	};
	read_time(&inode, EXT2_INODE_SIZE(reader->fs->super) > EXT2_GOOD_OLD_INODE_SIZE, value);
	if (S_ISCHR(inode.i_mode) || S_ISBLK(inode.i_mode))
		read_device(&inode, value);
	return 0;
}

struct naming {
	errcode_t (*visit)(void *context, const char *name, uint32_t name_bytes, uint32_t child);
	void *context;
	errcode_t error;
};

static int visit_name(ext2_ino_t directory, int entry, struct ext2_dir_entry *found, int offset, int block_bytes,
                      char *block, void *context)
{
	struct naming *naming = context;

	(void)directory;
	(void)entry;
	(void)offset;
	(void)block_bytes;
	(void)block;
	naming->error =
		naming->visit(naming->context, found->name, (uint32_t)ext2fs_dirent_name_len(found), found->inode);
	return naming->error ? DIRENT_ABORT : 0;
}

errcode_t image_reader_names(struct image_reader *reader, uint32_t ino,
                             errcode_t (*visit)(void *context, const char *name, uint32_t name_bytes, uint32_t child),
                             void *context)
{
	struct naming naming = { visit, context, 0 };
	errcode_t error = FS_ERROR_OF(ext2fs_dir_iterate2(reader->fs, ino, 0, NULL, visit_name, &naming));

	return naming.error ? naming.error : error;
}

struct describing {
	struct ext2_xattr_handle *handle;
	errcode_t (*visit)(void *context, const char *name, const void *value, size_t value_bytes);
	void *context;
	errcode_t error;
};

/* An iteration shows the bytes on disk; of ACLs, only asking by name gives the form that users see. */
static int visit_xattr(char *name, char *stored, size_t stored_bytes, void *context)
{
	struct describing *describing = context;
	size_t value_bytes;
	void *value;

	(void)stored;
	(void)stored_bytes;
	if (strcmp(name, "system.data") == 0)
		return 0;
	describing->error = ext2fs_xattr_get(describing->handle, name, &value, &value_bytes);
	if (describing->error)
		return XATTR_ABORT;
	describing->error = describing->visit(describing->context, name, value, value_bytes);
	ext2fs_free_mem(&value);
	return describing->error ? XATTR_ABORT : 0;
}

errcode_t image_reader_xattrs(struct image_reader *reader, uint32_t ino,
                              errcode_t (*visit)(void *context, const char *name, const void *value,
                                                 size_t value_bytes),
                              void *context)
{
	struct describing describing = { NULL, visit, context, 0 };
	struct ext2_xattr_handle *handle;
	errcode_t error = ext2fs_xattrs_open(reader->fs, ino, &handle);

	if (error)
		return error;
	error = FS_ERROR_OF(ext2fs_xattrs_read(handle));
	describing.handle = handle;
	if (!error)
		error = FS_ERROR_OF(ext2fs_xattrs_iterate(handle, visit_xattr, &describing));
	ext2fs_xattrs_close(&handle);
	return describing.error ? describing.error : error;
}

errcode_t image_reader_small(struct image_reader *reader, uint32_t ino, void *bytes, uint32_t count)
{
	struct ext2_inode inode;
	ext2_file_t file;
	unsigned int got = 0;
	errcode_t error = ext2fs_read_inode(reader->fs, ino, &inode);

	if (error)
		return error;
	if (ext2fs_is_fast_symlink(&inode)) {
		if (count > sizeof(inode.i_block))
			return EIO;
		memcpy(bytes, inode.i_block, count);
		return 0;
	}
	error = ext2fs_file_open(reader->fs, ino, 0, &file);
	if (error)
		return error;
	error = FS_ERROR_OF(ext2fs_file_read(file, bytes, count, &got));
	ext2fs_file_close(file);
	return !error && got != count ? EIO : error;
}

static int visit_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t logical, blk64_t reference, int offset,
                       void *context)
{
	struct image_reader *reader = context;

	(void)fs;
	(void)reference;
	(void)offset;
	reader->error = extent_list_add(&reader->runs, (uint32_t)logical, *block, 1);
	return reader->error ? BLOCK_ABORT : 0;
}

errcode_t image_reader_map(struct image_reader *reader, uint32_t ino, const struct file_extent **runs, size_t *count)
{
	reader->runs.count = 0;
	reader->error = 0;
	errcode_t error = FS_ERROR_OF(ext2fs_block_iterate3(
		reader->fs, ino, BLOCK_FLAG_READ_ONLY | BLOCK_FLAG_DATA_ONLY, NULL, visit_block, reader));

	*runs = reader->runs.extents;
	*count = reader->runs.count;
	return reader->error ? reader->error : error;
}
