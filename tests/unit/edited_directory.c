/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "edited_directory.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "mb_image.h"
#include "ondisk/xattr.h"

static struct edited_directory *of_sink(struct sink *sink)
{
	return (struct edited_directory *)((char *)sink - offsetof(struct edited_directory, sink));
}

static errcode_t sink_of_image_read(struct sink *sink, uint64_t block, uint32_t count, void *bytes)
{
	return io_channel_read_blk64(of_sink(sink)->image.fs->io, block, (int)count, bytes);
}

static errcode_t sink_of_image_write(struct sink *sink, uint64_t block, uint32_t count, const void *bytes)
{
	of_sink(sink)->written_blocks += count;
	return io_channel_write_blk64(of_sink(sink)->image.fs->io, block, (int)count, bytes);
}

static const struct sink_operations operations = {
	.read = sink_of_image_read,
	.write = sink_of_image_write,
	.write_data = sink_of_image_write,
};

static void write_inode(ext2_filsys fs, ext2_ino_t ino, uint16_t mode)
{
	struct ext2_inode inode = { .i_mode = mode, .i_links_count = 1, .i_generation = 12345 + ino };

	if (ext2fs_has_feature_extents(fs->super)) {
		ext2_extent_handle_t handle;

		inode.i_flags = EXT4_EXTENTS_FL;
		ck_assert_ok(ext2fs_write_new_inode(fs, ino, &inode));
		ck_assert_ok(ext2fs_extent_open2(fs, ino, &inode, &handle));
		ext2fs_extent_free(handle);
	}
	ck_assert_ok(ext2fs_write_new_inode(fs, ino, &inode));
}

void edited_directory_make(struct edited_directory *directory, const char *mke2fs_options, const char *size,
                           uint8_t hash_version, uint32_t hash_flag, struct random *random)
{
	struct ondisk_image *image = &directory->image;

	*directory = (struct edited_directory){ .random = random, .blocks_left = -1 };
	ondisk_image_make(image, mke2fs_options, size);
	ext2_filsys fs = image->fs;

	fs->super->s_def_hash_version = hash_version;
	fs->super->s_flags &= ~(EXT2_FLAGS_SIGNED_HASH | EXT2_FLAGS_UNSIGNED_HASH);
	fs->super->s_flags |= hash_flag;
	ext2fs_mark_super_dirty(fs);
	ck_assert_ok(ondisk_format_read(fs->super, &image->format));
	for (uint32_t file = 0; file < EDITED_FILES; file++) {
		char name[16];

		snprintf(name, sizeof(name), "file%u", file);
		directory->files[file] = ondisk_image_new_inode(image, name, LINUX_S_IFREG | 0644);
		write_inode(fs, directory->files[file], LINUX_S_IFREG | 0644);
		ck_assert_uint_eq(directory->files[file], directory->files[0] + file);
	}
	ck_assert_ok(ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, "dir"));
	ck_assert_ok(ext2fs_namei(fs, EXT2_ROOT_INO, EXT2_ROOT_INO, "dir", &directory->ino));
	directory->sink = (struct sink){ &operations, fs->blocksize, SINK_CACHED_BYTES };
}

/* Free blocks from `from` on; with bigalloc whole clusters. */
static uint64_t find_free(ext2_filsys fs, uint64_t from)
{
	uint32_t step = 1u << fs->cluster_ratio_bits;
	uint64_t block = from & ~(uint64_t)(step - 1);

	if (block < fs->super->s_first_data_block)
		block = fs->super->s_first_data_block;
	while (block < ext2fs_blocks_count(fs->super) && ext2fs_test_block_bitmap2(fs->block_map, block))
		block += step;
	return block;
}

static errcode_t allocate(void *context, uint32_t logical, uint64_t goal, uint32_t count, uint64_t *start,
                          uint32_t *got)
{
	struct edited_directory *directory = context;
	ext2_filsys fs = directory->image.fs;
	uint32_t step = 1u << fs->cluster_ratio_bits;
	uint64_t end = ext2fs_blocks_count(fs->super);

	ck_assert_uint_eq(logical % step, 0);
	if (!directory->blocks_left)
		return ENOSPC;
	if (directory->is_scattered && random_below(directory->random, 2))
		goal = random_below(directory->random, end);
	*start = find_free(fs, goal);
	if (*start >= end)
		*start = find_free(fs, 0);
	if (*start >= end)
		return ENOSPC;
	for (*got = 0; *got < count && directory->blocks_left && *start + *got < end; ++*got) {
		if (*got % step == 0 && ext2fs_test_block_bitmap2(fs->block_map, *start + *got))
			break;
		directory->blocks_left--;
	}
	ext2fs_block_alloc_stats_range(fs, *start, (*got + step - 1) / step * step, 1);
	return 0;
}

struct file_blocks {
	struct extent_list list;
};

static int add_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t logical, blk64_t reference, int offset, void *context)
{
	struct file_blocks *blocks = context;

	(void)fs;
	(void)reference;
	(void)offset;
	ck_assert_ok(extent_list_add(&blocks->list, (uint32_t)logical, *block, 1));
	return 0;
}

void edited_directory_open_editor(struct edited_directory *directory)
{
	struct ondisk_image *image = &directory->image;
	struct file_blocks blocks = { 0 };
	struct ext2_inode inode;
	uint8_t *data = calloc(1, image->format.block_bytes);
	size_t bytes = 0;

	ck_assert_ok(ext2fs_read_inode(image->fs, directory->ino, &inode));
	if (inode.i_flags & EXT4_INLINE_DATA_FL)
		ck_assert_ok(ext2fs_inline_data_get(image->fs, directory->ino, &inode, data, &bytes));
	else
		ck_assert_ok(ext2fs_block_iterate3(image->fs, directory->ino,
		                                   BLOCK_FLAG_READ_ONLY | BLOCK_FLAG_DATA_ONLY, NULL, add_block,
		                                   &blocks));
	const struct directory_editor_options options = {
		.sink = &directory->sink,
		.format = &image->format,
		.inode_count = image->fs->super->s_inodes_count,
		.ino = directory->ino,
		.generation = inode.i_generation,
		.flags = inode.i_flags,
		.size_bytes = EXT2_I_SIZE(&inode),
		.extents = blocks.list.extents,
		.extent_count = blocks.list.count,
		.inline_data = data,
		.inline_bytes = (uint32_t)bytes,
		.inline_room_bytes = inline_data_room(&image->format, NULL),
		.allocate = allocate,
		.context = directory,
		.goal = image->fs->super->s_first_data_block,
	};
	ck_assert_ok(directory_editor_open(&options, &directory->editor));
	free(blocks.list.extents);
	free(data);
}

/* Inline data leaves the inode: system.data goes, and i_block is an empty map. */
static void drop_inline_data(ext2_filsys fs, ext2_ino_t ino, uint32_t flags)
{
	struct ext2_xattr_handle *handle;
	struct ext2_inode inode;

	ck_assert_ok(ext2fs_xattrs_open(fs, ino, &handle));
	ck_assert_ok(ext2fs_xattrs_read(handle));
	ck_assert_ok(ext2fs_xattr_remove(handle, "system.data"));
	ck_assert_ok(ext2fs_xattrs_close(&handle));
	ck_assert_ok(ext2fs_read_inode(fs, ino, &inode));
	memset(inode.i_block, 0, sizeof(inode.i_block));
	inode.i_flags = flags;
	if (flags & EXT4_EXTENTS_FL) {
		ext2_extent_handle_t extents;

		ck_assert_ok(ext2fs_extent_open2(fs, ino, &inode, &extents));
		ext2fs_extent_free(extents);
	}
	ck_assert_ok(ext2fs_write_inode(fs, ino, &inode));
}

/* Enters what the inode does not have yet. */
static void map_blocks(ext2_filsys fs, ext2_ino_t ino, const struct directory_state *state)
{
	struct file_blocks old = { 0 };
	struct ext2_inode inode;
	uint32_t clusters = 0;

	ck_assert_ok(
		ext2fs_block_iterate3(fs, ino, BLOCK_FLAG_READ_ONLY | BLOCK_FLAG_DATA_ONLY, NULL, add_block, &old));
	uint32_t from = old.list.count ? old.list.extents[old.list.count - 1].logical +
	                                         old.list.extents[old.list.count - 1].count :
	                                 0;

	ck_assert_ok(ext2fs_read_inode(fs, ino, &inode));
	for (size_t i = 0; i < state->extent_count; i++) {
		for (uint32_t n = 0; n < state->extents[i].count; n++) {
			uint32_t logical = state->extents[i].logical + n;
			blk64_t physical = state->extents[i].physical + n;

			if (logical < from)
				continue;
			ck_assert_ok(
				ext2fs_bmap2(fs, ino, &inode, NULL, BMAP_ALLOC | BMAP_SET, logical, NULL, &physical));
			clusters += logical % (1u << fs->cluster_ratio_bits) == 0;
		}
	}
	ck_assert_ok(ext2fs_iblk_add_blocks(fs, &inode, clusters));
	ck_assert_ok(ext2fs_write_inode(fs, ino, &inode));
	free(old.list.extents);
}

void edited_directory_flush(struct edited_directory *directory)
{
	ext2_filsys fs = directory->image.fs;
	struct directory_state state;
	struct ext2_inode inode;

	ck_assert_ok(directory_editor_flush(directory->editor, &state));
	if (!state.is_changed)
		return;
	ck_assert_ok(ext2fs_read_inode(fs, directory->ino, &inode));
	if (inode.i_flags & EXT4_INLINE_DATA_FL && !(state.flags & EXT4_INLINE_DATA_FL))
		drop_inline_data(fs, directory->ino, state.flags);
	if (state.flags & EXT4_INLINE_DATA_FL)
		ck_assert_ok(ext2fs_inline_data_set(fs, directory->ino, &inode, (void *)(uintptr_t)state.inline_data,
		                                    state.inline_bytes));
	if (state.is_map_changed)
		map_blocks(fs, directory->ino, &state);
	ck_assert_ok(ext2fs_read_inode(fs, directory->ino, &inode));
	inode.i_flags = state.flags;
	ck_assert_ok(ext2fs_inode_size_set(fs, &inode, state.size_bytes));
	ck_assert_ok(ext2fs_write_inode(fs, directory->ino, &inode));
}

void edited_directory_close_editor(struct edited_directory *directory)
{
	directory_editor_close(directory->editor);
	directory->editor = NULL;
}

void edited_directory_fill(struct edited_directory *directory, struct name_set *set)
{
	const struct directory_source source = name_set_source(set);
	struct ondisk_image *image = &directory->image;
	ext2_filsys fs = image->fs;
	struct directory_layout *layout;
	struct extent_list list = { 0 };
	struct ext2_inode inode;
	uint32_t blocks, done = 0;

	set->first_ino = directory->files[0];
	set->ino_count = EDITED_FILES;
	ck_assert_ok(directory_layout(&image->format, &source, 0, NULL, &blocks, &layout));
	uint8_t *bytes = malloc((size_t)blocks * fs->blocksize);

	ck_assert_ok(ext2fs_read_inode(fs, directory->ino, &inode));
	ck_assert_ok(directory_build(&image->format, &source, layout, blocks, directory->ino, EXT2_ROOT_INO,
	                             inode.i_generation, bytes));
	for (uint64_t taken; done < blocks; done += (uint32_t)taken) {
		blk64_t start;

		if (!done) {
			/* The block that mkdir gave. */
			ck_assert_ok(ext2fs_bmap2(fs, directory->ino, &inode, NULL, 0, 0, NULL, &start));
			taken = 1;
		} else {
			start = ondisk_image_take_blocks(image, blocks - done, &taken);
		}
		ondisk_image_put_blocks(image, start, taken, bytes + (size_t)done * fs->blocksize);
		ck_assert_ok(extent_list_add(&list, done, start, taken));
	}
	map_blocks(fs, directory->ino,
	           &(const struct directory_state){ .extents = list.extents, .extent_count = list.count });
	ck_assert_ok(ext2fs_read_inode(fs, directory->ino, &inode));
	inode.i_flags |= layout ? EXT2_INDEX_FL : 0;
	ck_assert_ok(ext2fs_inode_size_set(fs, &inode, (uint64_t)blocks * fs->blocksize));
	ck_assert_ok(ext2fs_write_inode(fs, directory->ino, &inode));
	directory_layout_free(layout);
	free(list.extents);
	free(bytes);
}

static int count_link(ext2_ino_t dir, int type, struct ext2_dir_entry *entry, int offset, int blocksize, char *buffer,
                      void *context)
{
	uint32_t *links = context;

	(void)dir;
	(void)type;
	(void)offset;
	(void)blocksize;
	(void)buffer;
	links[entry->inode]++;
	return 0;
}

void edited_directory_check(struct edited_directory *directory)
{
	ext2_filsys fs = directory->image.fs;
	uint32_t *links = calloc(fs->super->s_inodes_count + 1, sizeof(*links));

	ck_assert_ok(ext2fs_dir_iterate2(fs, directory->ino, 0, NULL, count_link, links));
	for (uint32_t file = 0; file < EDITED_FILES; file++) {
		struct ext2_inode inode;

		ck_assert_ok(ext2fs_read_inode(fs, directory->files[file], &inode));
		inode.i_links_count = (uint16_t)(links[directory->files[file]] + 1);
		ck_assert_ok(ext2fs_write_inode(fs, directory->files[file], &inode));
	}
	free(links);
	ondisk_image_check(&directory->image);
}

void edited_directory_reopen(struct edited_directory *directory, io_manager manager)
{
	struct ondisk_image *image = &directory->image;

	ck_assert_ok(ext2fs_open(ondisk_image_path(), EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, manager, &image->fs));
	ck_assert_ok(ext2fs_read_bitmaps(image->fs));
}
