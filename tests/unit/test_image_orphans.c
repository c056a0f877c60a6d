/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Orphans of images, on the superblock's list and in the orphan file, and what becomes of them: e2fsck, which does what
 * a mount does, is the judge. Lists and slots that are damaged.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ext2fs/ext2fs.h>

#include "ext2fs/ext2mb.h"
#include "image/lookup.h"
#include "image/orphans.h"
#include "mb_image.h"
#include "ondisk/orphan_block.h"
#include "scratch.h"
#include "unit.h"

#define BLOCK_BYTES 1024

static void setup(void)
{
	scratch_enter("image_orphans");
	initialize_ext2_error_table();
	scratch_run("head -c 30000 /dev/urandom >value; echo short >little; printf '%%0200d' 7 >target");
}

static uint32_t ino_of(const char *path)
{
	struct problem problem = { 0 };
	struct volume volume;
	uint32_t ino;

	ck_assert_ok(volume_open("image", 0, &volume, &problem));
	ck_assert_ok(paths_lookup(&volume, path, (struct damage_listener){ 0 }, &ino));
	volume_close(&volume);
	return ino;
}

enum { DELETED, TRUNCATED, DIRECTORY, SYMLINK, DEVICE, FAST, PLAIN, KINDS };
static const char *const names[] = { "deleted", "truncated", "directory", "symlink", "device", "fast", "plain" };
static uint32_t ino[KINDS];

/* A file of each kind. One has a smaller size than its blocks, one has no name and no links. */
static void make_image(const char *options)
{
	scratch_run("rm -f image && mke2fs -q -F -t ext4 -b 1024 %s image 8M >log 2>&1 && "
	            "printf '%%s\\n' 'write value deleted' 'write value truncated' 'mkdir directory' "
	            "\"symlink symlink $(cat target)\" 'mknod device c 1 3' 'symlink fast short' "
	            "'write little plain' >commands && debugfs -w -f commands image >log 2>&1",
	            options);
	for (unsigned int n = 0; n < KINDS; n++)
		ino[n] = ino_of(names[n]);
	scratch_run("printf '%%s\\n' 'unlink deleted' 'sif <%u> links_count 0' 'sif <%u> size 1500' >commands && "
	            "debugfs -w -f commands image >log 2>&1",
	            ino[DELETED], ino[TRUNCATED]);
}

struct heard {
	unsigned int count;
	const char *last;
};

static void hear(void *context, const struct image_damage *damage)
{
	struct heard *heard = context;

	heard->count++;
	heard->last = damage->what;
}

static struct heard find(struct orphans *orphans)
{
	struct heard heard = { 0 };
	struct problem problem = { 0 };
	struct map_walker walker;
	struct volume volume;
	uint64_t blocks_read = 0;

	ck_assert_ok(volume_open("image", 0, &volume, &problem));
	ck_assert_ok(map_walker_open(&volume, (struct damage_listener){ hear, &heard }, &blocks_read, &walker));
	ck_assert_ok(orphans_find(&walker, orphans));
	ck_assert_uint_eq(walker.losses, heard.count);
	map_walker_close(&walker);
	volume_close(&volume);
	for (size_t n = 1; n < orphans->count; n++)
		ck_assert_uint_lt(orphans->items[n - 1].ino, orphans->items[n].ino);
	return heard;
}

/* e2fsck deletes and truncates them, and finds the rest in order. */
static void expect_e2fsck_agrees(const struct orphans *orphans)
{
	struct ext2_inode before[KINDS], after;
	ext2_filsys fs;

	ck_assert_ok(ext2fs_open("image", EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs));
	for (unsigned int n = 0; n < KINDS; n++)
		ck_assert_ok(ext2fs_read_inode(fs, ino[n], &before[n]));
	ext2fs_free(fs);
	scratch_run("cp image judged && { e2fsck -fy judged >log 2>&1; [ $? -le 1 ] || { cat log >&2; false; }; } && { "
	            "e2fsck -fn judged >log 2>&1 || { cat log >&2; false; }; }");
	ck_assert_ok(ext2fs_open("judged", EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs));
	ck_assert_ok(ext2fs_read_inode_bitmap(fs));
	for (unsigned int n = 0; n < KINDS; n++) {
		bool is_there = ext2fs_test_inode_bitmap2(fs->inode_map, ino[n]);

		ck_assert_ok(ext2fs_read_inode(fs, ino[n], &after));
		bool is_shorter = after.i_blocks < before[n].i_blocks;

		switch (orphans_fate(orphans, ino[n])) {
		case ORPHAN_DELETED:
			ck_assert_msg(!is_there, "%s is there", names[n]);
			break;
		case ORPHAN_TRUNCATED:
			ck_assert_msg(is_there && is_shorter == (n == TRUNCATED), "%s is not cut", names[n]);
			break;
		case ORPHAN_NONE:
			ck_assert_msg(is_there && !is_shorter, "%s is another", names[n]);
			break;
		}
	}
	ext2fs_free(fs);
}

/* The list: the superblock names the first, each inode's deletion time the next. */
static void put_on_list(const uint32_t *list, size_t count)
{
	scratch_run("debugfs -w -R 'ssv last_orphan %u' image >log 2>&1", list[0]);
	for (size_t n = 0; n < count; n++)
		scratch_run("debugfs -w -R 'sif <%u> dtime %u' image >log 2>&1", list[n],
		            n + 1 < count ? list[n + 1] : 0);
}

START_TEST(fates_on_the_list)
{
	struct orphans orphans = { 0 };

	make_image("-O ^orphan_file");
	put_on_list((const uint32_t[]){ ino[SYMLINK], ino[TRUNCATED], ino[DELETED], ino[DIRECTORY] }, 4);
	ck_assert_uint_eq(find(&orphans).count, 0);
	ck_assert_uint_eq(orphans.count, 4);
	ck_assert_int_eq(orphans_fate(&orphans, ino[DELETED]), ORPHAN_DELETED);
	ck_assert_int_eq(orphans_fate(&orphans, ino[TRUNCATED]), ORPHAN_TRUNCATED);
	ck_assert_int_eq(orphans_fate(&orphans, ino[SYMLINK]), ORPHAN_TRUNCATED);
	ck_assert_int_eq(orphans_fate(&orphans, ino[DIRECTORY]), ORPHAN_TRUNCATED);
	ck_assert_int_eq(orphans_fate(&orphans, ino[PLAIN]), ORPHAN_NONE);
	ck_assert_int_eq(orphans_fate(&orphans, 0), ORPHAN_NONE);
	ck_assert_int_eq(orphans_fate(&orphans, UINT32_MAX), ORPHAN_NONE);
	expect_e2fsck_agrees(&orphans);
	/* A mount leaves them alone where there are errors. */
	scratch_run("debugfs -w -R 'ssv state 3' image >log 2>&1");
	ck_assert_uint_eq(find(&orphans).count, 0);
	ck_assert_uint_eq(orphans.count, 0);
	orphans_free(&orphans);
}
END_TEST

/* What cannot be truncated ends the list; so does an inode that is free, and one that comes again. */
START_TEST(lists_that_are_wrong)
{
	struct orphans orphans = { 0 };
	uint32_t wrong[4];

	make_image("-O ^orphan_file");
	wrong[0] = ino[DEVICE];
	wrong[1] = ino[FAST];
	wrong[2] = 1000; /* free */
	wrong[3] = ino[TRUNCATED];
	for (unsigned int n = 0; n < 4; n++) {
		put_on_list((const uint32_t[]){ ino[TRUNCATED], wrong[n], ino[DELETED] }, n < 3 ? 3 : 1);
		if (n == 3)
			scratch_run("debugfs -w -R 'sif <%u> dtime %u' image >log 2>&1", wrong[3], wrong[3]);
		struct heard heard = find(&orphans);

		ck_assert_uint_eq(heard.count, 1);
		ck_assert_str_eq(heard.last, "list of orphans");
		ck_assert_uint_eq(orphans.count, 1);
		ck_assert_uint_eq(orphans.items[0].ino, ino[TRUNCATED]);
	}
	orphans_free(&orphans);
}
END_TEST

/* --- The orphan file ---------------------------------------------------------------------------------------- */

/* By libext2mb, which writes it in its own way. */
static void put_into_file(const uint32_t *inos, size_t count)
{
	struct ext2mb_orphans *orphan;
	char why[128] = "";
	ext2_filsys fs;

	ck_assert_ok(ext2fs_open("image", EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs));
	ck_assert_ok(ext2mb_orphan_open(fs, NULL, why, sizeof(why), &orphan));
	for (size_t n = 0; n < count; n++) {
		uint32_t index;

		ck_assert_ok(ext2mb_orphan_add(orphan, (unsigned int)n, inos[n], &index));
	}
	ck_assert_ok(ext2mb_orphan_sync(orphan));
	ext2mb_orphan_close(orphan);
	ck_assert_ok(ext2fs_close(fs));
}

static void fates_in_file(const char *options)
{
	struct orphans orphans = { 0 };

	make_image(options);
	put_into_file((const uint32_t[]){ ino[SYMLINK], ino[TRUNCATED], ino[DELETED] }, 3);
	ck_assert_uint_eq(find(&orphans).count, 0);
	ck_assert_uint_eq(orphans.count, 3);
	ck_assert_int_eq(orphans_fate(&orphans, ino[DELETED]), ORPHAN_DELETED);
	ck_assert_int_eq(orphans_fate(&orphans, ino[TRUNCATED]), ORPHAN_TRUNCATED);
	expect_e2fsck_agrees(&orphans);
	orphans_free(&orphans);
}

START_TEST(fates_in_the_file)
{
	fates_in_file("-O orphan_file");
	fates_in_file("-O orphan_file,^metadata_csum,^64bit");
}
END_TEST

/* The first block of the file, whole. slots: NULL leaves it as it is but for one byte. */
static void write_slots(const uint32_t *slots, size_t count, size_t changed_byte)
{
	struct problem problem = { 0 };
	uint32_t all[BLOCK_BYTES / 4] = { 0 };
	uint8_t bytes[BLOCK_BYTES], raw[256];
	struct volume_inode inode;
	struct map_record record;
	struct map_walker walker;
	struct volume volume;
	uint64_t blocks_read = 0;
	int descriptor = open("image", O_RDWR);

	ck_assert_ok(volume_open("image", 0, &volume, &problem));
	uint32_t file = volume.own_inodes[2];

	ck_assert_uint_gt(file, 0);
	ck_assert_ok(volume_inode_read(&volume, file, raw, &inode));
	ck_assert_ok(map_walker_open(&volume, (struct damage_listener){ 0 }, &blocks_read, &walker));
	ck_assert_uint_eq(map_records(&walker, file, &inode.view, 0, &record, 1), 1);
	ck_assert_ok(volume_read(&volume, record.physical, 1, bytes));
	if (slots) {
		memcpy(all, slots, count * sizeof(*slots));
		orphan_block_write(&volume.format, ondisk_inode_seed(&volume.format, file, inode.all.value.generation),
		                   record.physical, all, bytes);
	}
	bytes[changed_byte] ^= slots ? 0 : 1;
	ck_assert_int_eq(pwrite(descriptor, bytes, sizeof(bytes), (off_t)record.physical * BLOCK_BYTES), BLOCK_BYTES);
	close(descriptor);
	map_walker_close(&walker);
	volume_close(&volume);
}

/* Each wrong slot is told, and the others are read. */
START_TEST(slots_that_are_wrong)
{
	struct orphans orphans = { 0 };

	make_image("-O orphan_file");
	const uint32_t slots[] = { ino[DEVICE],  UINT32_MAX, EXT2_ROOT_INO,  8,           0, 1000,
		                   ino[DELETED], 0,          ino[TRUNCATED], ino[DELETED] };

	write_slots(slots, sizeof(slots) / sizeof(*slots), 0);
	struct heard heard = find(&orphans);

	ck_assert_uint_eq(heard.count, 5);
	ck_assert_str_eq(heard.last, "slot of the orphan file");
	ck_assert_uint_eq(orphans.count, 2);
	ck_assert_int_eq(orphans_fate(&orphans, ino[DELETED]), ORPHAN_DELETED);
	ck_assert_int_eq(orphans_fate(&orphans, ino[TRUNCATED]), ORPHAN_TRUNCATED);
	orphans_free(&orphans);
}
END_TEST

/* Its checksum, its magic number: the block is left out. The other blocks are read. */
START_TEST(blocks_of_the_file_that_are_wrong)
{
	static const size_t changes[] = { 0, BLOCK_BYTES - 8, BLOCK_BYTES - 1 };
	struct orphans orphans = { 0 };

	for (size_t n = 0; n < sizeof(changes) / sizeof(*changes); n++) {
		make_image("-O orphan_file");
		write_slots(&ino[DELETED], 1, 0);
		ck_assert_uint_eq(find(&orphans).count, 0);
		ck_assert_uint_eq(orphans.count, 1);
		write_slots(NULL, 0, changes[n]);
		struct heard heard = find(&orphans);

		ck_assert_uint_eq(heard.count, 1);
		ck_assert_str_eq(heard.last, "block of the orphan file");
		ck_assert_uint_eq(orphans.count, 0);
	}
	orphans_free(&orphans);
}
END_TEST

/* Its inode is no file, or is nowhere. */
START_TEST(orphan_files_that_are_none)
{
	static const char *const changes[] = { "ssv orphan_file_inum 4000000000", "ssv orphan_file_inum 1000",
		                               "sif <12> mode 020644" };
	struct orphans orphans = { 0 };

	for (size_t n = 0; n < sizeof(changes) / sizeof(*changes); n++) {
		make_image("-O orphan_file,^metadata_csum");
		scratch_run("debugfs -w -R '%s' image >log 2>&1", changes[n]);
		struct heard heard = find(&orphans);

		ck_assert_uint_eq(heard.count, 1);
		ck_assert_str_eq(heard.last, "orphan file");
	}
	orphans_free(&orphans);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("image_orphans");
	TCase *tests = tcase_create("image_orphans");

	tcase_add_unchecked_fixture(tests, setup, scratch_leave);
	tcase_set_timeout(tests, 600);
	tcase_add_test(tests, fates_on_the_list);
	tcase_add_test(tests, lists_that_are_wrong);
	tcase_add_test(tests, fates_in_the_file);
	tcase_add_test(tests, slots_that_are_wrong);
	tcase_add_test(tests, blocks_of_the_file_that_are_wrong);
	tcase_add_test(tests, orphan_files_that_are_none);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
