/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libext2fs's own calls on a handle that an allocator is attached to. */
#include <string.h>
#include <sys/stat.h>

#include "attach_judge.h"
#include "unit.h"

#define FILES 64

static ext2_ino_t create_file(ext2_filsys fs, uint32_t flags)
{
	struct ext2_inode inode = { .i_mode = S_IFREG | 0644, .i_links_count = 1, .i_flags = flags };
	ext2_extent_handle_t handle;
	ext2_ino_t ino;
	char name[32];

	ck_assert_ok(ext2fs_new_inode(fs, EXT2_ROOT_INO, S_IFREG, NULL, &ino));
	ext2fs_inode_alloc_stats2(fs, ino, 1, 0);
	ck_assert_ok(ext2fs_write_new_inode(fs, ino, &inode));
	if (flags & EXT4_EXTENTS_FL) {
		ck_assert_ok(ext2fs_extent_open2(fs, ino, &inode, &handle));
		ext2fs_extent_free(handle);
		ck_assert_ok(ext2fs_write_inode(fs, ino, &inode));
	}
	snprintf(name, sizeof(name), "f%u", ino);
	errcode_t error = ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE);
	if (error == EXT2_ET_DIR_NO_SPACE) {
		ck_assert_ok(ext2fs_expand_dir(fs, EXT2_ROOT_INO));
		error = ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE);
	}
	ck_assert_ok(error);
	return ino;
}

static void close_attached(ext2_filsys fs)
{
	attach_check_books(fs);
	attach_judge(fs, NULL, "everything");
	ck_assert_ok(ext2mb_detach(fs));
	attach_judge(fs, NULL, "detaching");
	ck_assert_ok(ext2fs_close(fs));
	mb_image_check();
}

struct pieces {
	uint64_t next;
	uint64_t count;
};

static int count_piece(ext2_filsys fs, blk64_t *block, e2_blkcnt_t logical, blk64_t reference, int offset,
                       void *context)
{
	struct pieces *pieces = context;

	(void)fs;
	(void)logical;
	(void)reference;
	(void)offset;
	pieces->count += *block != pieces->next;
	pieces->next = *block + 1;
	return 0;
}

/* Runs on disk, in the order of the file; its indirect blocks are a part of them. */
static uint64_t count_pieces(ext2_filsys fs, ext2_ino_t ino)
{
	struct ext2_inode inode;
	struct pieces pieces = { 0 };

	ck_assert_ok(ext2fs_read_inode(fs, ino, &inode));
	int flags =
		inode.i_flags & EXT4_EXTENTS_FL ? BLOCK_FLAG_READ_ONLY | BLOCK_FLAG_DATA_ONLY : BLOCK_FLAG_READ_ONLY;
	ck_assert_ok(ext2fs_block_iterate3(fs, ino, flags, NULL, count_piece, &pieces));
	return pieces.count;
}

static void write_to(ext2_filsys fs, ext2_ino_t ino, uint64_t offset, const char *bytes, unsigned int count)
{
	ext2_file_t file;
	unsigned int done;

	ck_assert_ok(ext2fs_file_open(fs, ino, EXT2_FILE_WRITE, &file));
	ck_assert_ok(ext2fs_file_llseek(file, offset, EXT2_SEEK_SET, NULL));
	ck_assert_ok(ext2fs_file_write(file, bytes, count, &done));
	ck_assert_uint_eq(done, count);
	ck_assert_ok(ext2fs_file_close(file));
}

static const struct turns {
	const char *options;
	const char *size;
	uint32_t flags;
	uint64_t most_pieces;
} turns[] = {
	{ "-t ext4 -b 4096 -O ^orphan_file", "400M", EXT4_EXTENTS_FL, 4 },
	{ "-t ext4 -b 1024 -O ^orphan_file", "200M", EXT4_EXTENTS_FL, 4 },
	{ "-t ext4 -b 4096 -O bigalloc,^orphan_file -C 16384", "400M", EXT4_EXTENTS_FL, 4 },
	{ "-t ext2 -b 4096", "400M", 0, 4 },
	{ "-t ext2 -b 1024", "200M", 0, 4 },
};

/* A block a call, files in turns: the blocks of each lie together, and almost none of them was searched for. */
START_TEST(test_in_turns)
{
	const struct turns *kind = &turns[_i];
	ext2_filsys fs = attach_open_image(kind->options, kind->size);
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	static char block[65536];
	ext2_ino_t inodes[FILES];
	uint64_t pieces = 0;

	memset(block, 'b', sizeof(block));
	for (unsigned int index = 0; index < FILES; index++)
		inodes[index] = create_file(fs, kind->flags);
	for (unsigned int turn = 0; turn < 256; turn++)
		for (unsigned int index = 0; index < FILES; index++)
			write_to(fs, inodes[index], (uint64_t)turn * fs->blocksize, block, fs->blocksize);
	for (unsigned int index = 0; index < FILES; index++) {
		uint64_t count = count_pieces(fs, inodes[index]);

		pieces = count > pieces ? count : pieces;
	}
	ck_assert_uint_le(pieces, kind->most_pieces);
	ck_assert_ok(ext2mb_read_stats(ext2mb_attached(fs), &stats));
	ck_assert_uint_gt(stats.preallocation_hits, stats.requests / 10 * 9);
	/* What is reserved is free for everyone who reads the map. */
	ck_assert_uint_gt(ext2mb_reserved_blocks(ext2mb_attached(fs)), 0);
	uint64_t available = ext2mb_reserved_blocks(ext2mb_attached(fs)) + ext2mb_free_blocks(ext2mb_attached(fs));
	ck_assert_uint_le(available, ext2fs_free_blocks_count(fs->super));
	/* The last cluster is kept back, once its group has been read. */
	ck_assert_uint_ge(available + (uint64_t)EXT2FS_CLUSTER_RATIO(fs), ext2fs_free_blocks_count(fs->super));
	close_attached(fs);
}
END_TEST

/*
 * One file after the other, each written a block a call and not touched again: how programs fill a filesystem. Most are
 * small, every eighth is longer. They have no more pieces than libext2fs gives them alone, whether their sizes are
 * known before (mke2fs -d, debugfs) or not (fuse2fs), with holes and without.
 */
#define ONE_BY_ONE 320

static unsigned int blocks_of(unsigned int number)
{
	return number % 8 == 7 ? 17 + number * 7 % 600 : 1 + number * 5 % 16;
}

static void write_whole(ext2_filsys fs, ext2_ino_t ino, unsigned int blocks, bool knows_size, unsigned int hole)
{
	static char block[65536];
	struct ext2_inode inode;

	memset(block, 'b', sizeof(block));
	if (knows_size) {
		ck_assert_ok(ext2fs_read_inode(fs, ino, &inode));
		ck_assert_ok(ext2fs_inode_size_set(fs, &inode, (uint64_t)(blocks + hole) * fs->blocksize));
		ck_assert_ok(ext2fs_write_inode(fs, ino, &inode));
	}
	for (unsigned int logical = 0; logical < blocks; logical++)
		write_to(fs, ino, (uint64_t)(logical + (logical > blocks / 2 ? hole : 0)) * fs->blocksize, block,
		         fs->blocksize);
}

static const struct one_by_one {
	const char *options;
	uint32_t flags;
	bool knows_size;
	unsigned int hole;
} one_by_one[] = {
	{ "-t ext4 -b 4096 -O ^orphan_file", EXT4_EXTENTS_FL, false, 0 },
	{ "-t ext4 -b 1024 -O ^orphan_file", EXT4_EXTENTS_FL, false, 0 },
	{ "-t ext4 -b 1024 -O ^orphan_file", EXT4_EXTENTS_FL, true, 0 },
	{ "-t ext4 -b 4096 -O ^orphan_file", EXT4_EXTENTS_FL, false, 3 },
	{ "-t ext4 -b 4096 -O ^orphan_file", EXT4_EXTENTS_FL, true, 3 },
	{ "-t ext2 -b 1024", 0, false, 0 },
	{ "-t ext2 -b 1024", 0, true, 0 },
	{ "-t ext2 -b 1024", 0, true, 3 },
};

static uint64_t pieces_one_by_one(ext2_filsys fs, const struct one_by_one *kind)
{
	static ext2_ino_t inodes[ONE_BY_ONE];
	uint64_t pieces = 0;

	for (unsigned int number = 0; number < ONE_BY_ONE; number++) {
		inodes[number] = create_file(fs, kind->flags);
		write_whole(fs, inodes[number], blocks_of(number), kind->knows_size, kind->hole);
	}
	for (unsigned int number = 0; number < ONE_BY_ONE; number++)
		pieces += count_pieces(fs, inodes[number]);
	return pieces;
}

START_TEST(test_one_by_one)
{
	const struct one_by_one *kind = &one_by_one[_i];
	ext2_filsys fs = attach_open_image(kind->options, "400M");

	ck_assert_ok(ext2mb_detach(fs));
	uint64_t alone = pieces_one_by_one(fs, kind);
	ck_assert_ok(ext2fs_close(fs));
	fs = attach_open_image(kind->options, "400M");
	ck_assert_uint_le(pieces_one_by_one(fs, kind), alone);
	close_attached(fs);
}
END_TEST

static errcode_t take_none(ext2_filsys fs, blk64_t goal, blk64_t *block)
{
	(void)fs;
	(void)goal;
	*block = 4242;
	return 0;
}

START_TEST(test_refusals)
{
	struct ext2mb_attach_options options = { .struct_bytes = sizeof(options) };
	ext2_filsys fs = attach_open_image("-t ext4 -b 1024 -O ^orphan_file", "16M"), other;

	ck_assert_error(ext2mb_attach(fs, NULL), EXT2MB_ET_ATTACHED);
	ck_assert_error(ext2mb_sync(ext2mb_attached(fs)), EXT2MB_ET_ATTACHED);
	ck_assert_error(ext2mb_close(ext2mb_attached(fs)), EXT2MB_ET_ATTACHED);
	ck_assert_ok(ext2mb_detach(fs));
	ck_assert_error(ext2mb_detach(fs), EXT2MB_ET_NOT_ATTACHED);
	ck_assert_ptr_null(ext2mb_attached(fs));
	ck_assert(!fs->get_alloc_block2 && !fs->new_range && !fs->block_alloc_stats && !fs->block_alloc_stats_range);

	ext2fs_set_alloc_block_callback(fs, take_none, NULL);
	ck_assert_error(ext2mb_attach(fs, NULL), EXT2MB_ET_HOOKS_TAKEN);
	ext2fs_set_alloc_block_callback(fs, NULL, NULL);
	options.struct_bytes--;
	ck_assert_error(ext2mb_attach(fs, &options), EXT2MB_ET_BAD_ARGUMENT);
	options.struct_bytes++;
	options.open_files = UINT64_C(1) << 40;
	ck_assert_error(ext2mb_attach(fs, &options), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_ok(ext2fs_close(fs));

	ck_assert_ok(ext2fs_open(mb_image_path(), EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &other));
	ck_assert_error(ext2mb_attach(other, NULL), EXT2_ET_RO_FILSYS);
	ck_assert_ok(ext2fs_close(other));
	mb_image_check();
}
END_TEST

/* What is asked for and not marked is nobody's when the next block is asked for. */
START_TEST(test_not_taken)
{
	ext2_filsys fs = attach_open_image("-t ext4 -b 1024 -O ^orphan_file", "16M");
	blk64_t block, count;
	uint64_t before = 0;

	for (unsigned int round = 0; round < 100; round++) {
		ck_assert_ok(ext2fs_new_block2(fs, 0, NULL, &block));
		ck_assert_ok(ext2fs_new_range(fs, 0, 5000, 200, NULL, &block, &count));
		ck_assert_ok(ext2fs_new_block2(fs, 0, NULL, &block));
		before = before ? before : ext2mb_free_blocks(ext2mb_attached(fs));
		ck_assert_uint_eq(ext2mb_free_blocks(ext2mb_attached(fs)), before);
	}
	close_attached(fs);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("attach");
	TCase *attach = mb_image_case(suite);

	tcase_add_loop_test(attach, test_in_turns, 0, sizeof(turns) / sizeof(*turns));
	tcase_add_loop_test(attach, test_one_by_one, 0, sizeof(one_by_one) / sizeof(*one_by_one));
	tcase_add_test(attach, test_refusals);
	tcase_add_test(attach, test_not_taken);
	return run_suite(suite);
}
