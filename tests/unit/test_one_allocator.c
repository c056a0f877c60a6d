/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A handle has one allocator: two would hand out the same blocks. And what one is on a handle with transactions. */
#include <string.h>

#include "attach_judge.h"
#include "transaction_image.h"
#include "unit.h"

#define OPTIONS "-t ext4 -b 1024 -O ^orphan_file -J size=1 -N 128"

START_TEST(test_opened_on_attached)
{
	ext2_filsys fs = attach_open_image(OPTIONS, "16M");
	struct ext2mb *mb;
	blk64_t block;

	ck_assert_ok(ext2fs_alloc_block3(fs, 0, NULL, &block, NULL));
	ck_assert_error(ext2mb_open(fs, NULL, &mb), EXT2MB_ET_ATTACHED);
	ck_assert_ptr_ne(ext2mb_attached(fs), NULL);
	ck_assert_ok(ext2mb_detach(fs));
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_ok(ext2mb_close(mb));
	ext2fs_free(fs);
}
END_TEST

START_TEST(test_opened_twice)
{
	struct ext2mb *first, *second;

	mb_image_make(OPTIONS, "16M");
	ext2_filsys fs = mb_image_open(), other = mb_image_open();

	ck_assert_ok(ext2mb_open(fs, NULL, &first));
	ck_assert_error(ext2mb_open(fs, NULL, &second), EXT2MB_ET_ATTACHED);
	ck_assert_error(ext2mb_attach(fs, NULL), EXT2MB_ET_ATTACHED);
	ck_assert_ptr_null(ext2mb_attached(fs));
	ck_assert_ptr_null(fs->get_alloc_block2);
	/* Another handle is another matter. */
	ck_assert_ok(ext2mb_open(other, NULL, &second));
	ck_assert_ok(ext2mb_close(second));
	ck_assert_ok(ext2mb_close(first));
	ck_assert_ok(ext2mb_open(fs, NULL, &first));
	ck_assert_ok(ext2mb_close(first));
	ck_assert_ok(ext2mb_attach(fs, NULL));
	ck_assert_ok(ext2mb_detach(fs));
	ext2fs_free(other);
	ext2fs_free(fs);
}
END_TEST

/* One that could not be opened is not in the way. */
START_TEST(test_refused_first)
{
	struct ext2mb_options options = { .struct_bytes = sizeof(options), .optimize_scan = 77 };
	struct ext2mb *mb;

	mb_image_make(OPTIONS, "16M");
	ext2_filsys fs = mb_image_open();
	ck_assert_error(ext2mb_open(fs, &options, &mb), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_ok(ext2mb_close(mb));
	ext2fs_free(fs);
}
END_TEST

/* A handle that was freed with its allocator attached has told nobody: what is at its address now is another one. */
START_TEST(test_address_again)
{
	ext2_filsys fs = attach_open_image(OPTIONS, "16M");
	struct struct_ext2_filsys old = *fs;
	struct ext2mb *mb;

	fs->get_alloc_block2 = NULL;
	fs->new_range = NULL;
	fs->block_alloc_stats = NULL;
	fs->block_alloc_stats_range = NULL;
	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_ok(ext2mb_close(mb));
	*fs = old;
	ck_assert_ok(ext2mb_detach(fs));
	ext2fs_free(fs);
}
END_TEST

/* Orphans are released through the handle's allocator, which the caller names, or none. */
START_TEST(test_orphans_of_attached)
{
	ext2_filsys fs = attach_open_image(OPTIONS, "16M");
	struct ext2mb_orphan_options options = { .struct_bytes = sizeof(options) };
	struct ext2mb_orphans *orphans;

	ck_assert_ok(ext2mb_orphan_open(fs, &options, NULL, 0, &orphans));
	ck_assert_error(ext2mb_orphan_release(orphans, NULL, NULL, 0), EXT2MB_ET_ATTACHED);
	ext2mb_orphan_close(orphans);
	ck_assert_ok(ext2mb_detach(fs));
	ext2fs_free(fs);
}
END_TEST

#define FILE_BLOCKS 12 /* as many as an inode without further blocks has */

/* A file in the root directory, which the allocator gives all that it has. */
static void add_file(ext2_filsys fs, struct ext2mb_worker *worker, unsigned int number, struct ext2mb_extent *extent)
{
	struct ext2_inode inode = { .i_mode = LINUX_S_IFREG | 0644, .i_links_count = 1 };
	struct ext2mb_inode_request wanted = { .struct_bytes = sizeof(wanted), .parent = EXT2_ROOT_INO };
	struct ext2mb_request request = { .struct_bytes = sizeof(request),
		                          .count = FILE_BLOCKS,
		                          .flags = EXT2MB_ALLOC_WHOLE };
	char name[16];
	ext2_ino_t ino;

	ck_assert_ok(ext2mb_inode_alloc(worker, &wanted, &ino));
	ck_assert_ok(ext2mb_alloc(worker, &request, extent));
	for (uint32_t block = 0; block < FILE_BLOCKS; block++) {
		inode.i_block[block] = (uint32_t)(extent->start + block);
		ck_assert_ok(block_fill(fs, extent->start + block, 'x'));
	}
	ext2fs_iblk_set(fs, &inode, FILE_BLOCKS);
	ck_assert_ok(ext2fs_inode_size_set(fs, &inode, FILE_BLOCKS * fs->blocksize));
	ck_assert_ok(ext2fs_write_new_inode(fs, ino, &inode));
	snprintf(name, sizeof(name), "f%u", number);
	ck_assert_ok(ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE));
}

/* What is on disk now, once the journal has been replayed, is whole and has so many files. */
static void check_crashed(unsigned int files)
{
	char command[300];

	snprintf(command, sizeof(command),
	         "cp \"$IMAGE\" \"$IMAGE.now\" && e2fsck -y -E journal_only \"$IMAGE.now\" >/dev/null 2>&1; "
	         "e2fsck -fn \"$IMAGE.now\" >\"$IMAGE.log\" 2>&1 || { cat \"$IMAGE.log\"; exit 1; }; "
	         "test $(debugfs -R 'ls -p' \"$IMAGE.now\" 2>/dev/null | grep -c '/f[0-9]*/') = %u; status=$?; "
	         "rm \"$IMAGE.now\" \"$IMAGE.log\"; exit $status",
	         files);
	run_on_image(command);
}

/* Each commit has what the allocator has handed out, also that which a step begins with. */
START_TEST(test_with_transactions)
{
	struct ext2mb_extent extents[60], extent;
	struct ext2mb_worker *worker;
	struct ext2mb *mb;

	mb_image_make(OPTIONS, "16M");
	ext2_filsys fs = transaction_image_open(0);

	ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	ck_assert_ok(ext2mb_worker_open(mb, &worker));
	for (unsigned int number = 0; number < 60; number++)
		add_file(fs, worker, number, &extents[number]);
	ck_assert_ok(ext2mb_transaction_commit(fs));
	check_crashed(60);

	ck_assert_ok(ext2mb_transaction_begin(fs));
	add_file(fs, worker, 60, &extent);
	for (uint32_t block = 0; block < 60 * FILE_BLOCKS; block++)
		ck_assert_ok(block_fill(fs, extents[block / FILE_BLOCKS].start + block % FILE_BLOCKS, 'y'));
	ck_assert_ok(ext2mb_transaction_end(fs));
	uint64_t commits = transaction_image_info(fs).commits;
	ck_assert_ok(ext2mb_transaction_begin(fs));
	ck_assert_uint_eq(transaction_image_info(fs).commits, commits + 1);
	check_crashed(61);

	/* What was freed is not written at once as long as a crash brings it back. */
	ck_assert_ok(ext2mb_free(worker, extent.start, extent.count));
	ck_assert_ok(ext2mb_commit(mb));
	ck_assert_ok(block_fill(fs, extent.start, 'z'));
	ck_assert(is_filled_on_disk(fs, extent.start, 'x'));
	check_crashed(61);
	ck_assert_ok(ext2mb_transaction_abort(fs));
	ext2mb_worker_close(worker);
	ck_assert_ok(ext2mb_close(mb));
	ext2fs_free(fs);
	mb_image_check();
}
END_TEST

static unsigned int shown;

/* Discards through the handle wait for the commit, as all do. */
static errcode_t discard_there(void *context, uint64_t start, uint64_t count)
{
	ext2_filsys fs = context;

	shown++;
	ck_assert_error(ext2mb_transaction_commit(fs), EXT2MB_ET_IN_DISCARD);
	return io_channel_discard(fs->io, start, count);
}

START_TEST(test_discards_of_transactions)
{
	struct ext2mb_options options = { .struct_bytes = sizeof(options), .discard = discard_there };
	struct ext2mb_worker *worker;
	struct ext2mb_extent extent;
	struct ext2mb *mb;

	mb_image_make(OPTIONS, "16M");
	ext2_filsys fs = transaction_image_open(0);

	options.discard_context = fs;
	ck_assert_ok(ext2mb_open(fs, &options, &mb));
	ck_assert_ok(ext2mb_worker_open(mb, &worker));
	add_file(fs, worker, 0, &extent);
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_uint_eq(shown, 0);
	ck_assert_ok(ext2mb_free(worker, extent.start, extent.count));
	ck_assert_ok(ext2mb_commit(mb));
	ck_assert_uint_eq(shown, 1);
	ck_assert(is_filled_on_disk(fs, extent.start, 'x'));
	check_crashed(1);
	ck_assert_ok(ext2mb_transaction_abort(fs));
	ext2mb_worker_close(worker);
	ck_assert_ok(ext2mb_close(mb));
	ext2fs_free(fs);
	mb_image_check();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("one allocator");
	TCase *tests = mb_image_case(suite);

	tcase_add_test(tests, test_opened_on_attached);
	tcase_add_test(tests, test_opened_twice);
	tcase_add_test(tests, test_refused_first);
	tcase_add_test(tests, test_address_again);
	tcase_add_test(tests, test_orphans_of_attached);
	tcase_add_test(tests, test_with_transactions);
	tcase_add_test(tests, test_discards_of_transactions);
	return run_suite(suite);
}
