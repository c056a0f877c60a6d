/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image_judge.h"

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <string.h>
#include <sys/stat.h>

#include <ext2fs/ext2fs.h>

#include "filesystem/fs_errors.h"
#include "image/contents.h"
#include "image/directory_walk.h"
#include "image/xattrs.h"
#include "mb_image.h"
#include "ondisk/xattr_read.h"
#include "support/vector.h"
#include "unit.h"

#define MOST_CONTENT_BYTES (2u << 20)

struct judging {
	ext2_filsys fs;
	struct volume volume;
	struct directory_walker walker;
	struct judged judged;

	/* The inode that is being compared. */
	struct volume_inode inode;
	uint64_t *blocks; /* triples of logical block (of a map's block: UINT64_MAX), physical one, is it unwritten */
	size_t count, capacity, next;
};

static void hear(void *context, const struct image_damage *damage)
{
	(void)context;
	ck_abort_msg("inode %u, block %llu: %s", damage->ino, (unsigned long long)damage->block, damage->what);
}

static void add_numbers(struct judging *judging, uint64_t logical, uint64_t physical, uint64_t more)
{
	ck_assert_ok(vector_reserve(&judging->blocks, &judging->capacity, judging->count + 3, sizeof(uint64_t)));
	judging->blocks[judging->count++] = logical;
	judging->blocks[judging->count++] = physical;
	judging->blocks[judging->count++] = more;
}

/* --- Inodes ------------------------------------------------------------------------------------------------- */

static int64_t seconds_of_field(uint32_t low, uint32_t extra)
{
	return (int32_t)low + ((int64_t)(extra & 3) << 32);
}

static void compare_inode(struct judging *judging, const struct ext2_inode_large *theirs)
{
	const struct inode_decoded *all = &judging->inode.all;
	const struct inode_value *ours = &all->value;
	bool is_large = judging->volume.format.inode_bytes > 128 && theirs->i_extra_isize >= 32;

	ck_assert_uint_eq(ours->mode, theirs->i_mode);
	ck_assert_uint_eq(ours->uid, inode_uid(*theirs));
	ck_assert_uint_eq(ours->gid, inode_gid(*theirs));
	ck_assert_uint_eq(ours->size_bytes, EXT2_I_SIZE(theirs));
	ck_assert_uint_eq(ours->links, theirs->i_links_count);
	ck_assert_uint_eq(ours->flags, theirs->i_flags);
	ck_assert_uint_eq(ours->generation, theirs->i_generation);
	ck_assert_uint_eq(ours->xattr_block, ext2fs_file_acl_block(judging->fs, (struct ext2_inode *)theirs));
	ck_assert_uint_eq(ours->blocks, ext2fs_get_stat_i_blocks(judging->fs, (struct ext2_inode *)theirs) /
	                                        (judging->volume.format.block_bytes / 512));
	ck_assert_int_eq(ours->mtime.seconds, seconds_of_field(theirs->i_mtime, is_large ? theirs->i_mtime_extra : 0));
	ck_assert_int_eq(ours->atime.seconds, seconds_of_field(theirs->i_atime, is_large ? theirs->i_atime_extra : 0));
	ck_assert_int_eq(ours->ctime.seconds, seconds_of_field(theirs->i_ctime, is_large ? theirs->i_ctime_extra : 0));
	ck_assert(all->has_crtime == is_large);
	if (is_large) {
		ck_assert_int_eq(ours->crtime.seconds, seconds_of_field(theirs->i_crtime, theirs->i_crtime_extra));
		ck_assert_uint_eq(ours->mtime.nanoseconds, theirs->i_mtime_extra >> 2);
		ck_assert_uint_eq(ours->project, theirs->i_projid);
		ck_assert_uint_eq(all->extra_isize, theirs->i_extra_isize);
	}
}

/* --- Maps --------------------------------------------------------------------------------------------------- */

static bool add_record(void *context, const struct map_record *record)
{
	struct judging *judging = context;

	judging->judged.records++;
	judging->judged.unwritten += record->is_unwritten;
	for (uint32_t n = 0; n < record->count; n++)
		add_numbers(judging, record->logical + n, record->physical + n, record->is_unwritten);
	return true;
}

static bool add_map_block(void *context, uint64_t block)
{
	struct judging *judging = context;

	judging->judged.map_blocks++;
	add_numbers(judging, UINT64_MAX, block, 0);
	return true;
}

static int compare_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t logical, blk64_t reference, int offset,
                         void *context)
{
	struct judging *judging = context;
	const uint64_t *ours = judging->blocks + judging->next;

	(void)reference;
	(void)offset;
	ck_assert_uint_lt(judging->next, judging->count);
	ck_assert_uint_eq(ours[0], logical < 0 ? UINT64_MAX : (uint64_t)logical);
	ck_assert_uint_eq(ours[1], *block);
	judging->next += 3;
	if (logical >= 0 && logical % 7 == 0) {
		blk64_t found;
		int flags = 0;

		ck_assert_ok(ext2fs_bmap2(fs, judging->inode.ino, NULL, NULL, 0, (blk64_t)logical, &flags, &found));
		ck_assert_uint_eq(!!(flags & BMAP_RET_UNINIT), ours[2]);
	}
	return 0;
}

/* From any block on, the records are the end of those from the first one. */
static void compare_from(struct judging *judging, uint64_t from)
{
	struct map_record records[5];
	size_t at = 0, count;

	while (at < judging->count && (judging->blocks[at] == UINT64_MAX || judging->blocks[at] < from))
		at += 3;
	count = map_records(&judging->walker.map, judging->inode.ino, &judging->inode.view, from, records, 5);
	for (size_t n = 0; n < count; n++)
		for (uint32_t block = 0; block < records[n].count; block++, at += 3) {
			while (at < judging->count && judging->blocks[at] == UINT64_MAX)
				at += 3;
			ck_assert_uint_lt(at, judging->count);
			ck_assert_uint_eq(records[n].logical + block, judging->blocks[at]);
			ck_assert_uint_eq(records[n].physical + block, judging->blocks[at + 1]);
		}
	while (at < judging->count && judging->blocks[at] == UINT64_MAX)
		at += 3;
	ck_assert(count == 5 || at == judging->count);
}

static void compare_map(struct judging *judging)
{
	const struct map_visitor visitor = { .record = add_record, .block = add_map_block, .context = judging };
	struct map_shape shape;

	judging->count = judging->next = 0;
	map_visit(&judging->walker.map, judging->inode.ino, &judging->inode.view, &visitor, &shape);
	if (shape.depth > judging->judged.depth)
		judging->judged.depth = shape.depth;
	ck_assert_ok(FS_ERROR_OF(ext2fs_block_iterate3(judging->fs, judging->inode.ino, BLOCK_FLAG_READ_ONLY, NULL,
	                                               compare_block, judging)));
	ck_assert_uint_eq(judging->next, judging->count);
	if (!judging->count)
		return;
	uint64_t last = judging->blocks[judging->count - 3];

	compare_from(judging, 1);
	compare_from(judging, last == UINT64_MAX ? 3 : last / 2);
	compare_from(judging, last == UINT64_MAX ? 5 : last);
	compare_from(judging, UINT32_MAX - 1);
}

/* --- Contents ----------------------------------------------------------------------------------------------- */

static void compare_contents(struct judging *judging)
{
	uint64_t size_bytes = judging->inode.all.value.size_bytes;
	unsigned int count = size_bytes < MOST_CONTENT_BYTES ? (unsigned int)size_bytes : MOST_CONTENT_BYTES, got;
	SCOPE_FREE char *ours = malloc(count + 1);
	SCOPE_FREE char *theirs = malloc(count + 1);
	ext2_file_t file;

	ck_assert_ok(ext2fs_file_open(judging->fs, judging->inode.ino, 0, &file));
	ck_assert_ok(ext2fs_file_read(file, theirs, count, &got));
	ck_assert_ok(ext2fs_file_close(file));
	/* A hole at the end of inline data is not stored: the kernel reads zeros, libext2fs none. */
	if (judging->inode.view.flags & EXT4_INLINE_DATA_FL)
		memset(theirs + got, 0, count - got);
	else
		ck_assert_uint_eq(got, count);
	ck_assert_ok(contents_read(&judging->walker.map, &judging->inode, 0, ours, count));
	ck_assert_mem_eq(ours, theirs, count);
	for (unsigned int offset = 1; offset < count; offset = offset * 3 + 7) {
		unsigned int part = count - offset < 5000 ? count - offset : 5000;

		ck_assert_ok(contents_read(&judging->walker.map, &judging->inode, offset, ours, part));
		ck_assert_mem_eq(ours, theirs + offset, part);
	}
	if (judging->inode.view.flags & EXT4_INLINE_DATA_FL)
		judging->judged.inline_data++;
}

static void compare_symlink(struct judging *judging, const struct ext2_inode_large *theirs)
{
	char *target;
	size_t bytes;

	ck_assert_ok(symlink_read(&judging->walker.map, &judging->inode, &target, &bytes));
	ck_assert_uint_eq(bytes, EXT2_I_SIZE(theirs));
	ck_assert_uint_eq(strlen(target), bytes);
	judging->judged.symlinks++;
	if (volume_inode_has_map(&judging->inode)) {
		SCOPE_FREE char *block = malloc(judging->fs->blocksize);

		ck_assert_ok(io_channel_read_blk64(judging->fs->io, judging->blocks[judging->count - 2], 1, block));
		ck_assert_mem_eq(target, block, bytes);
	} else if (judging->inode.view.flags & EXT4_INLINE_DATA_FL) {
		SCOPE_FREE char *data = malloc(bytes + judging->volume.format.inode_bytes);
		size_t found;

		ck_assert_ok(ext2fs_inline_data_get(judging->fs, judging->inode.ino, (struct ext2_inode *)theirs, data,
		                                    &found));
		ck_assert_mem_eq(target, data, bytes);
	} else {
		ck_assert_mem_eq(target, theirs->i_block, bytes);
	}
	free(target);
}

/* --- Directories -------------------------------------------------------------------------------------------- */

struct names {
	struct judging *judging;
	char *text; /* lines of number, type and name */
	size_t count, capacity;
	ext2_ino_t parent;
};

static void add_name(struct names *names, uint32_t ino, const char *name, int name_bytes, unsigned int type)
{
	ck_assert_ok(vector_reserve(&names->text, &names->capacity, names->count + 300, 1));
	names->count += (size_t)sprintf(names->text + names->count, "%u %u %.*s\n", ino, type, name_bytes, name);
}

static void add_our_name(void *context, const struct directory_entry *entry)
{
	struct names *names = context;

	names->judging->judged.names++;
	add_name(names, entry->ino, entry->name, entry->name_bytes,
	         names->judging->volume.format.filetype ? entry->file_type : 0);
}

static int add_their_name(ext2_ino_t directory, int place, struct ext2_dir_entry *entry, int offset, int block_bytes,
                          char *block, void *context)
{
	struct names *names = context;
	int name_bytes = ext2fs_dirent_name_len(entry);

	(void)directory;
	(void)offset;
	(void)block_bytes;
	(void)block;
	(void)place; /* wrong of .. in inline directories */
	if (name_bytes == 2 && !memcmp(entry->name, "..", 2))
		names->parent = entry->inode;
	else if (name_bytes != 1 || entry->name[0] != '.')
		add_name(names, entry->inode, entry->name, name_bytes, (unsigned int)ext2fs_dirent_file_type(entry));
	return 0;
}

static void compare_directory(struct judging *judging)
{
	struct names ours = { .judging = judging }, theirs = { .judging = judging };
	const struct directory_visitor visitor = { .entry = add_our_name, .context = &ours };
	struct directory_shape shape;

	directory_walk(&judging->walker, judging->inode.ino, judging->inode.raw, &judging->inode.view, &visitor,
	               &shape);
	ck_assert_ok(
		FS_ERROR_OF(ext2fs_dir_iterate2(judging->fs, judging->inode.ino, 0, NULL, add_their_name, &theirs)));
	ck_assert_uint_eq(ours.count, theirs.count);
	if (ours.count)
		ck_assert_mem_eq(ours.text, theirs.text, ours.count);
	ck_assert_uint_eq(shape.parent, theirs.parent);
	if (shape.index_levels > judging->judged.index_levels)
		judging->judged.index_levels = shape.index_levels;
	judging->judged.casefolded += !!(judging->inode.view.flags & EXT4_CASEFOLD_FL);
	free(ours.text);
	free(theirs.text);
}

/* --- xattrs ------------------------------------------------------------------------------------------------- */

/* Entries that do not name a user or group have no id: the kernel and lib/image say -1, libext2fs 0. */
static void clear_ids(void *value, size_t bytes)
{
	struct posix_acl_xattr_entry entry;

	for (size_t at = sizeof(struct posix_acl_xattr_header); at + sizeof(entry) <= bytes; at += sizeof(entry)) {
		memcpy(&entry, (char *)value + at, sizeof(entry));
		if (!(entry.e_tag & htole16(ACL_USER | ACL_GROUP)))
			entry.e_id = 0;
		memcpy((char *)value + at, &entry, sizeof(entry));
	}
}

static void compare_xattr(struct judging *judging, struct ext2_xattr_handle *handle, const struct volume_xattr *xattr)
{
	void *theirs;
	size_t bytes;

	judging->judged.xattrs++;
	ck_assert_ptr_nonnull(xattr->name);
	ck_assert_ok(ext2fs_xattr_get(handle, xattr->name, &theirs, &bytes));
	ck_assert_uint_eq(bytes, xattr->value_bytes);
	if (strncmp(xattr->name, "system.posix_acl", 16)) {
		ck_assert_mem_eq(xattr->value, theirs, bytes);
	} else {
		SCOPE_FREE char *ours = malloc(bytes);

		memcpy(ours, xattr->value, bytes);
		clear_ids(ours, bytes);
		clear_ids(theirs, bytes);
		ck_assert_mem_eq(ours, theirs, bytes);
		judging->judged.acls++;
	}
	ext2fs_free_mem(&theirs);
}

static int count_xattr(char *name, char *value, size_t bytes, void *context)
{
	(void)value;
	(void)bytes;
	*(size_t *)context += strcmp(name, "system.data") != 0;
	return 0;
}

static void compare_xattrs(struct judging *judging)
{
	struct ext2_xattr_handle *handle;
	struct volume_xattrs xattrs = { 0 };
	size_t theirs = 0;

	ck_assert_ok(ext2fs_xattrs_open(judging->fs, judging->inode.ino, &handle));
	ck_assert_ok(ext2fs_xattrs_read(handle));
	ck_assert_ok(volume_xattrs_read(&judging->walker.map, &judging->inode, &xattrs));
	ck_assert_ok(ext2fs_xattrs_iterate(handle, count_xattr, &theirs));
	ck_assert_uint_eq(xattrs.count, theirs);
	for (size_t n = 0; n < xattrs.count; n++)
		compare_xattr(judging, handle, &xattrs.items[n]);
	ck_assert_ok(ext2fs_xattrs_close(&handle));
	volume_xattrs_free(&xattrs);
}

/* --- All of them -------------------------------------------------------------------------------------------- */

static void compare_one(struct judging *judging, ext2_ino_t ino, void *raw)
{
	struct ext2_inode_large theirs = { 0 };

	ck_assert_ok(volume_inode_read(&judging->volume, ino, raw, &judging->inode));
	ck_assert_ok(ext2fs_read_inode_full(judging->fs, ino, (struct ext2_inode *)&theirs, sizeof(theirs)));
	compare_inode(judging, &theirs);
	ck_assert(volume_inode_has_map(&judging->inode) ==
	          (!(S_ISLNK(theirs.i_mode) && ext2fs_is_fast_symlink((struct ext2_inode *)&theirs)) &&
	           (S_ISREG(theirs.i_mode) || S_ISDIR(theirs.i_mode) || S_ISLNK(theirs.i_mode)) &&
	           !(theirs.i_flags & EXT4_INLINE_DATA_FL)));
	judging->count = 0;
	if (volume_inode_has_map(&judging->inode))
		compare_map(judging);
	if (S_ISDIR(theirs.i_mode))
		compare_directory(judging);
	if (S_ISREG(theirs.i_mode))
		compare_contents(judging);
	if (S_ISLNK(theirs.i_mode))
		compare_symlink(judging, &theirs);
	judging->judged.value_inodes += !!(theirs.i_flags & EXT4_EA_INODE_FL);
	compare_xattrs(judging);
	judging->judged.inodes++;
}

struct judged image_judge(const char *path)
{
	struct judging judging = { 0 };
	uint64_t map_blocks = 0, directory_blocks = 0;
	struct problem problem = { 0 };

	ck_assert_ok(fs_open(path, 0, 0, &judging.fs));
	ck_assert_ok(ext2fs_read_inode_bitmap(judging.fs));
	ck_assert_ok(volume_open(path, 0, &judging.volume, &problem));
	ck_assert_ok(directory_walker_open(&judging.volume, (struct damage_listener){ hear, NULL }, &map_blocks,
	                                   &directory_blocks, &judging.walker));
	judging.walker.map.is_strict = true;
	SCOPE_FREE void *raw = malloc(judging.volume.format.inode_bytes);

	for (ext2_ino_t ino = 1; ino <= judging.volume.inodes; ino++) {
		map_blocks = directory_blocks = 0;
		if ((ino == EXT2_ROOT_INO || !volume_owns_inode(&judging.volume, ino)) &&
		    ext2fs_test_inode_bitmap2(judging.fs->inode_map, ino))
			compare_one(&judging, ino, raw);
	}
	directory_walker_close(&judging.walker);
	volume_close(&judging.volume);
	ext2fs_free(judging.fs);
	free(judging.blocks);
	return judging.judged;
}
