/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles that an allocator is attached to, and what programs may do to a handle besides calling libext2fs. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach_judge.h"
#include "unit.h"

static ext2_ino_t create_file(ext2_filsys fs, const char *name, uint32_t flags)
{
	struct ext2_inode inode = { .i_mode = S_IFREG | 0644, .i_links_count = 1, .i_flags = flags };
	ext2_ino_t ino;

	ck_assert_ok(ext2fs_new_inode(fs, EXT2_ROOT_INO, S_IFREG, NULL, &ino));
	ext2fs_inode_alloc_stats2(fs, ino, 1, 0);
	ck_assert_ok(ext2fs_write_new_inode(fs, ino, &inode));
	if (flags & EXT4_INLINE_DATA_FL)
		ck_assert_ok(ext2fs_inline_data_init(fs, ino));
	ck_assert_ok(ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE));
	return ino;
}

static void write_from(ext2_filsys fs, ext2_ino_t ino, int whence, unsigned int count, char filler)
{
	static char bytes[65536];
	ext2_file_t file;
	unsigned int done;

	ck_assert_uint_le(count, sizeof(bytes));
	memset(bytes, filler, count);
	ck_assert_ok(ext2fs_file_open(fs, ino, EXT2_FILE_WRITE, &file));
	ck_assert_ok(ext2fs_file_llseek(file, 0, whence, NULL));
	ck_assert_ok(ext2fs_file_write(file, bytes, count, &done));
	/* 1.47.0 does not say how much of inline data has been written. */
	ck_assert(done == count || !done);
	ck_assert_ok(ext2fs_file_close(file));
}

static void append(ext2_filsys fs, ext2_ino_t ino, unsigned int count, char filler)
{
	write_from(fs, ino, EXT2_SEEK_END, count, filler);
}

static void write_all(ext2_filsys fs, ext2_ino_t ino, unsigned int count, char filler)
{
	write_from(fs, ino, EXT2_SEEK_SET, count, filler);
}

static void check_filler(ext2_filsys fs, ext2_ino_t ino, uint64_t count, char filler)
{
	static char bytes[4096];
	ext2_file_t file;
	unsigned int got;
	uint64_t sum = 0;

	ck_assert_ok(ext2fs_file_open(fs, ino, 0, &file));
	do {
		ck_assert_ok(ext2fs_file_read(file, bytes, sizeof(bytes), &got));
		for (unsigned int at = 0; at < got; at++)
			ck_assert(bytes[at] == filler);
		sum += got;
	} while (got);
	ck_assert_uint_eq(sum, count);
	ck_assert_ok(ext2fs_file_close(file));
}

static void judge(ext2_filsys fs, const char *after)
{
	attach_check_books(fs);
	attach_judge(fs, NULL, after);
}

static void close_attached(ext2_filsys fs)
{
	judge(fs, "everything");
	ck_assert_ok(ext2mb_detach(fs));
	ck_assert_ok(ext2fs_close(fs));
	mb_image_check();
}

/* Two at once, in turns: each has its own, and one ends before the other. */
START_TEST(test_two)
{
	ext2_filsys first = attach_open_image("-t ext4 -b 1024 -O ^orphan_file", "16M"), second;
	char path[200], command[500];

	snprintf(path, sizeof(path), "%s.second", mb_image_path());
	snprintf(command, sizeof(command), "cp '%s' '%s'", mb_image_path(), path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_ok(ext2fs_open(path, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &second));
	ck_assert_ok(ext2fs_read_bitmaps(second));
	ck_assert_ok(ext2mb_attach(second, NULL));
	ck_assert_ptr_ne(ext2mb_attached(first), ext2mb_attached(second));
	ext2_ino_t one = create_file(first, "one", 0), two = create_file(second, "two", 0);
	for (unsigned int turn = 0; turn < 200; turn++) {
		append(first, one, 1024, '1');
		append(second, two, 3072, '2');
	}
	judge(first, "writing to both");
	judge(second, "writing to both");
	ck_assert_ok(ext2mb_detach(second));
	append(second, two, 5000, '2');
	append(first, one, 5000, '1');
	judge(first, "detaching the other one");
	check_filler(second, two, 200 * 3072 + 5000, '2');
	check_filler(first, one, 200 * 1024 + 5000, '1');
	attach_judge(second, NULL, "detaching");
	ck_assert_ok(ext2fs_close(second));
	close_attached(first);
	unlink(path);
}
END_TEST

/* A copy has libext2fs's allocator until it is attached by itself, and touches nothing of the other one's. */
START_TEST(test_copy)
{
	ext2_filsys fs = attach_open_image("-t ext4 -b 1024 -O ^orphan_file", "16M"), copy;
	ext2_ino_t ino = create_file(fs, "file", 0);
	blk64_t block;

	append(fs, ino, 40960, 'a');
	uint64_t before = ext2mb_free_blocks(ext2mb_attached(fs));
	ck_assert_ok(ext2fs_dup_handle(fs, &copy));
	ck_assert_ptr_null(ext2mb_attached(copy));
	for (unsigned int count = 0; count < 100; count++) {
		ck_assert_ok(ext2fs_new_block2(copy, 0, NULL, &block));
		ck_assert(!ext2fs_test_block_bitmap2(copy->block_map, block));
		ext2fs_block_alloc_stats2(copy, block, 1);
	}
	ck_assert_uint_eq(ext2mb_free_blocks(ext2mb_attached(fs)), before);
	ck_assert_error(ext2mb_detach(copy), EXT2MB_ET_NOT_ATTACHED);
	ck_assert_ok(ext2mb_attach(copy, NULL));
	ck_assert_error(ext2mb_attach(copy, NULL), EXT2MB_ET_ATTACHED);
	for (unsigned int count = 0; count < 100; count++) {
		ck_assert_ok(ext2fs_new_block2(copy, 0, NULL, &block));
		ck_assert(!ext2fs_test_block_bitmap2(copy->block_map, block));
		ext2fs_block_alloc_stats2(copy, block, 1);
	}
	attach_check_books(copy);
	ck_assert_ok(ext2mb_detach(copy));
	ck_assert_ptr_null(copy->get_alloc_block2);
	copy->flags &= ~(EXT2_FLAG_DIRTY | EXT2_FLAG_BB_DIRTY | EXT2_FLAG_IB_DIRTY);
	ext2fs_free(copy);
	append(fs, ino, 40960, 'a');
	check_filler(fs, ino, 81920, 'a');
	close_attached(fs);
}
END_TEST

static unsigned int times_asked;

/* As resize2fs does: it asks libext2fs for what it then hands out. */
static errcode_t take_of_program(ext2_filsys fs, blk64_t goal, blk64_t *block)
{
	times_asked++;
	errcode_t error = ext2fs_new_block2(fs, goal, NULL, block);
	if (!error)
		ext2fs_block_alloc_stats2(fs, *block, 1);
	return error;
}

START_TEST(test_program_allocates)
{
	ext2_filsys fs = attach_open_image("-t ext4 -b 1024 -O ^orphan_file", "16M");
	ext2_ino_t ino = create_file(fs, "file", 0), other = create_file(fs, "other", 0);
	blk64_t block;

	append(fs, ino, 40000, 'a');
	ext2fs_set_alloc_block_callback(fs, take_of_program, NULL);
	for (unsigned int count = 1; count <= 50; count++) {
		ck_assert_ok(ext2fs_new_block2(fs, 0, NULL, &block));
		ck_assert_uint_eq(times_asked, count);
		ck_assert(ext2fs_test_block_bitmap2(fs->block_map, block));
		ext2fs_block_alloc_stats2(fs, block, -1);
		attach_check_books(fs);
	}
	ext2fs_set_alloc_block_callback(fs, NULL, NULL);
	append(fs, ino, 40000, 'a');
	append(fs, other, 40000, 'b');
	check_filler(fs, ino, 80000, 'a');
	close_attached(fs);
}
END_TEST

/* What the map has marked, and nothing else but the last cluster and what was just handed out, is used in the books. */
static void check_agreement(ext2_filsys fs, uint64_t handed_out)
{
	uint64_t step = (uint64_t)EXT2FS_CLUSTER_RATIO(fs), end = ext2fs_blocks_count(fs->super) - step, alike;
	enum ext2mb_block_use use;

	for (uint64_t block = fs->super->s_first_data_block; block < end; block += step) {
		ck_assert_ok(ext2mb_query_blocks(ext2mb_attached(fs), block, step, &use, &alike));
		if (block != handed_out &&
		    (use == EXT2MB_BLOCKS_USED) != (ext2fs_test_block_bitmap2(fs->block_map, block) != 0))
			ck_abort_msg("block %llu", (unsigned long long)block);
	}
}

/* Another bitmap in the place of the first one, with other blocks in use: it is what counts from then on. */
START_TEST(test_other_map)
{
	ext2_filsys fs = attach_open_image("-t ext4 -b 1024 -g 2048 -O ^has_journal,^orphan_file,^resize_inode", "16M");
	ext2_ino_t ino = create_file(fs, "file", 0);
	ext2fs_block_bitmap other, old;
	blk64_t block, unused;

	append(fs, ino, 40960, 'a');
	ck_assert_ok(ext2fs_copy_bitmap(fs->block_map, &other));
	ck_assert_ok(ext2fs_get_free_blocks2(fs, 3000, 0, 1000, other, &block));
	ext2fs_mark_block_bitmap_range2(other, block, 1000);
	old = fs->block_map;
	fs->block_map = other;
	ck_assert_ok(ext2fs_new_block2(fs, 0, NULL, &unused));
	check_agreement(fs, unused);
	append(fs, ino, 40960, 'a');
	fs->block_map = old;
	ext2fs_copy_bitmap(other, &fs->block_map);
	ext2fs_free_block_bitmap(other);
	ext2fs_free_block_bitmap(old);
	ext2fs_unmark_block_bitmap_range2(fs->block_map, block, 1000);
	append(fs, ino, 40960, 'a');
	check_filler(fs, ino, 3 * 40960, 'a');
	close_attached(fs);
}
END_TEST

/* A file in its inode grows out of it. */
START_TEST(test_inline_data)
{
	ext2_filsys fs = attach_open_image("-t ext4 -b 1024 -I 256 -O inline_data,^orphan_file", "16M");
	char name[20];

	for (unsigned int number = 0; number < 20; number++) {
		snprintf(name, sizeof(name), "inline%u", number);
		ext2_ino_t ino = create_file(fs, name, EXT4_INLINE_DATA_FL);
		for (unsigned int step = 1; step <= 12; step++)
			write_all(fs, ino, step * (7 + 50 * number), 'i');
		check_filler(fs, ino, UINT64_C(12) * (7 + 50 * number), 'i');
		judge(fs, "growing out of the inode");
	}
	/* Directories do, too. */
	for (unsigned int number = 0; number < 40; number++) {
		snprintf(name, sizeof(name), "directory%u", number);
		errcode_t error = ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, name);
		if (error == EXT2_ET_DIR_NO_SPACE) {
			ck_assert_ok(ext2fs_expand_dir(fs, EXT2_ROOT_INO));
			error = ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, name);
		}
		ck_assert_ok(error);
	}
	close_attached(fs);
}
END_TEST

/* No processor with pages of 4 KiB can mount it. */
START_TEST(test_blocks_of_64_kib)
{
	ext2_filsys fs = attach_open_image("-t ext4 -b 65536 -O ^has_journal,^orphan_file", "512M");
	ext2_ino_t inodes[8];
	char name[20];

	for (unsigned int number = 0; number < 8; number++) {
		snprintf(name, sizeof(name), "file%u", number);
		inodes[number] = create_file(fs, name, number % 2 ? 0 : EXT4_EXTENTS_FL);
	}
	for (unsigned int turn = 0; turn < 40; turn++)
		for (unsigned int number = 0; number < 8; number++)
			append(fs, inodes[number], 65536, 'x');
	for (unsigned int number = 0; number < 8; number++)
		check_filler(fs, inodes[number], 40 * 65536, 'x');
	close_attached(fs);
}
END_TEST

/* With another size libext2fs allocates by itself; when it is as it was the allocator serves again. */
START_TEST(test_other_size)
{
	ext2_filsys fs = attach_open_image("-t ext4 -b 1024 -O ^has_journal,^orphan_file", "16M");
	ext2_ino_t ino = create_file(fs, "file", EXT4_EXTENTS_FL);
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };
	uint64_t size = ext2fs_blocks_count(fs->super);

	append(fs, ino, 40960, 'a');
	ck_assert_ok(ext2mb_read_stats(ext2mb_attached(fs), &stats));
	uint64_t before = stats.preallocation_hits;
	ext2fs_blocks_count_set(fs->super, size - 512);
	append(fs, ino, 40960, 'a');
	ck_assert_ok(ext2mb_read_stats(ext2mb_attached(fs), &stats));
	ck_assert_uint_eq(stats.preallocation_hits, before);
	ext2fs_blocks_count_set(fs->super, size);
	append(fs, ino, 40960, 'a');
	ck_assert_ok(ext2mb_read_stats(ext2mb_attached(fs), &stats));
	ck_assert_uint_gt(stats.preallocation_hits, before);
	check_filler(fs, ino, 3 * 40960, 'a');
	check_agreement(fs, 0);
	close_attached(fs);
}
END_TEST

/* Told of as libext2fs does from 1.47.4 on (start, count), or as before (end, 0), across groups, read or not. */
static void tell(ext2_filsys fs, uint64_t start, uint64_t count, int in_use, bool is_old)
{
	if (in_use > 0)
		ext2fs_mark_block_bitmap_range2(fs->block_map, start, (unsigned int)count);
	else
		ext2fs_unmark_block_bitmap_range2(fs->block_map, start, (unsigned int)count);
	fs->block_alloc_stats_range(fs, is_old ? start + count : start, is_old ? 0 : (blk_t)count, in_use);
}

START_TEST(test_ranges_are_told)
{
	bool is_old = _i % 2, reads_all = _i / 2;
	ext2_filsys fs = attach_open_image(
		"-t ext4 -b 1024 -g 1024 -N 256 -O ^has_journal,^orphan_file,^resize_inode,^flex_bg", "16M");
	blk64_t block;

	for (uint64_t start = 2600; start < 9000; start += 777) {
		uint64_t count = 900;

		while (count && !ext2fs_test_block_bitmap_range2(fs->block_map, start, (unsigned int)count))
			count--;
		if (reads_all)
			check_agreement(fs, start == 2600 ? 0 : block);
		else
			ck_assert_ok(ext2fs_new_block2(fs, start, NULL, &block));
		tell(fs, start, count, 1, is_old);
		ck_assert_ok(ext2fs_new_block2(fs, 15000, NULL, &block));
		check_agreement(fs, block);
		tell(fs, start, count, -1, is_old);
		ck_assert_ok(ext2fs_new_block2(fs, 15000, NULL, &block));
		check_agreement(fs, block);
	}
	ck_assert_ok(ext2mb_detach(fs));
	ck_assert_ok(ext2fs_close(fs));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("attach_handles");
	TCase *handles = mb_image_case(suite);

	tcase_add_test(handles, test_two);
	tcase_add_test(handles, test_copy);
	tcase_add_test(handles, test_program_allocates);
	tcase_add_test(handles, test_other_map);
	tcase_add_test(handles, test_inline_data);
	tcase_add_test(handles, test_blocks_of_64_kib);
	tcase_add_test(handles, test_other_size);
	tcase_add_loop_test(handles, test_ranges_are_told, 0, 4);
	return run_suite(suite);
}
