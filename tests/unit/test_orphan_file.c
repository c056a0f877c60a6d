/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The orphan file and the superblock's list in real filesystems, with both twins: against a model, with threads,
 * damaged, and released. What e2fsck and the kernel make of them is in tests/orphan-file.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "compare/orphan_slots_locked.h"
#include "mb_image.h"
#include "ondisk/orphan_block.h"
#include "seeded_random.h"
#include "unit.h"

struct image_case {
	const char *options;
	const char *size;
	uint32_t blocks; /* of the orphan file; 0: none */
};

static const struct image_case cases[] = {
	{ "-t ext4 -b 1024 -N 4096 -O orphan_file", "20M", 32 },
	{ "-t ext4 -b 4096 -N 4096 -O orphan_file", "40M", 32 },
	{ "-t ext4 -b 1024 -N 4096 -O orphan_file,^metadata_csum,^64bit", "20M", 32 },
	{ "-t ext4 -b 1024 -N 4096 -O orphan_file,bigalloc -C 16384", "64M", 32 },
	{ "-t ext4 -b 1024 -N 4096 -O ^orphan_file", "20M", 0 },
};
#define CASES 5
#define TWINS 2

static struct ext2mb_orphans *open_orphans(ext2_filsys fs, struct ext2mb *mb, bool locked)
{
	struct ext2mb_orphan_options options = { sizeof(options), mb };
	struct ext2mb_orphans *orphans;
	char why[128];
	errcode_t error = (locked ? orphan_open_locked : ext2mb_orphan_open)(fs, &options, why, sizeof(why), &orphans);

	ck_assert_msg(error == 0, "%s: %s", error_message(error), why);
	ck_assert_str_eq(why, "");
	return orphans;
}

static uint32_t count_orphans(struct ext2mb_orphans *orphans)
{
	uint32_t count = 0;

	for (uint32_t index = 0; ext2mb_orphan_next(orphans, &index); index++)
		count++;
	return count;
}

/* Linked files, so that an image from which all orphans have been deleted is one without faults. */
static ext2_ino_t make_files(ext2_filsys fs, uint32_t count)
{
	ext2_ino_t first = 0;

	ck_assert_ok(ext2fs_read_bitmaps(fs));
	for (uint32_t number = 0; number < count; number++) {
		struct ext2_inode inode = { .i_mode = LINUX_S_IFREG | 0644, .i_links_count = 1 };
		char name[32];
		ext2_ino_t ino;

		ck_assert_ok(ext2fs_new_inode(fs, EXT2_ROOT_INO, LINUX_S_IFREG, NULL, &ino));
		ext2fs_inode_alloc_stats2(fs, ino, 1, 0);
		ck_assert_ok(ext2fs_write_new_inode(fs, ino, &inode));
		snprintf(name, sizeof(name), "file-%u", number);
		while (ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE) == EXT2_ET_DIR_NO_SPACE)
			ck_assert_ok(ext2fs_expand_dir(fs, EXT2_ROOT_INO));
		if (!first)
			first = ino;
		ck_assert_uint_eq(ino, first + number);
	}
	return first;
}

#define MODEL_FILES 600

struct model {
	struct ext2mb_orphans *orphans;
	ext2_filsys fs;
	ext2_ino_t first;
	bool is_orphan[MODEL_FILES];
	uint32_t index[MODEL_FILES];
	bool is_locked;
};

static void compare_with_model(struct model *model)
{
	uint32_t expected = 0;

	for (uint32_t file = 0; file < MODEL_FILES; file++)
		expected += model->is_orphan[file];
	ck_assert_uint_eq(count_orphans(model->orphans), expected);
	for (uint32_t index = 0, ino; (ino = ext2mb_orphan_next(model->orphans, &index)); index++) {
		ck_assert_uint_lt(ino - model->first, MODEL_FILES);
		ck_assert(model->is_orphan[ino - model->first]);
		model->index[ino - model->first] = index; /* those on the list stand elsewhere when it is read again */
	}
}

/* Through the disk: closed, and read again by a fresh libext2fs. */
static void reopen(struct model *model)
{
	ck_assert_ok(ext2mb_orphan_sync(model->orphans));
	ext2mb_orphan_close(model->orphans);
	ck_assert_ok(ext2fs_close(model->fs));
	model->fs = mb_image_open();
	model->orphans = open_orphans(model->fs, NULL, model->is_locked);
	compare_with_model(model);
}

static void toggle(struct model *model, uint32_t file, uint32_t worker)
{
	ext2_ino_t ino = model->first + file;

	if (model->is_orphan[file])
		ck_assert_ok(ext2mb_orphan_delete(model->orphans, model->index[file], ino));
	else
		ck_assert_ok(ext2mb_orphan_add(model->orphans, worker, ino, &model->index[file]));
	model->is_orphan[file] = !model->is_orphan[file];
}

/* Fills the file but for a few slots with an inode that is none of the model's. */
static uint32_t fill_up(struct ext2mb_orphans *orphans, ext2_ino_t ino, uint32_t leave)
{
	uint32_t index, count = 0;

	do {
		ck_assert_ok(ext2mb_orphan_add(orphans, 0, ino, &index));
		count++;
	} while (index < EXT2MB_ORPHAN_ON_LIST);
	ck_assert_ok(ext2mb_orphan_delete(orphans, index, ino));
	index = 0;
	for (uint32_t left = 0; left < leave && ext2mb_orphan_next(orphans, &index) == ino; left++, index += 7)
		ck_assert_ok(ext2mb_orphan_delete(orphans, index, ino));
	return count - 1;
}

static void empty_again(struct ext2mb_orphans *orphans, ext2_ino_t ino)
{
	uint32_t index = 0, found;

	for (; (found = ext2mb_orphan_next(orphans, &index)); index++)
		if (found == ino)
			ck_assert_ok(ext2mb_orphan_delete(orphans, index, ino));
}

static void run_model(struct model *model, struct random *random, int operations)
{
	for (int operation = 0; operation < operations; operation++) {
		toggle(model, (uint32_t)random_below(random, MODEL_FILES), (uint32_t)random_next(random));
		if (random_below(random, 100) == 0)
			ck_assert_ok(ext2mb_orphan_sync(model->orphans));
		if (random_below(random, 500) == 0)
			reopen(model);
	}
	reopen(model);
}

/* Half of it in a file that has room, half in one that is all but full, so that the list has its share. */
START_TEST(test_model)
{
	const struct image_case *image = &cases[_i / TWINS];
	struct model *model = calloc(1, sizeof(*model));
	struct random random = random_start(image->options);

	mb_image_make(image->options, image->size);
	model->is_locked = _i % TWINS;
	model->fs = mb_image_open();
	model->first = make_files(model->fs, MODEL_FILES + 1);
	model->orphans = open_orphans(model->fs, NULL, model->is_locked);
	run_model(model, &random, 3000);
	ck_assert_int_eq(!!ext2fs_has_feature_orphan_present(model->fs->super), image->blocks > 0);

	ext2_ino_t filler = model->first + MODEL_FILES;
	for (uint32_t file = 0; file < MODEL_FILES; file++)
		if (model->is_orphan[file])
			toggle(model, file, 0);
	uint32_t filled = fill_up(model->orphans, filler, 40);
	ck_assert_uint_eq(filled, image->blocks * ((uint32_t)model->fs->blocksize - 8) / 4);
	for (uint32_t file = 0; file < 200; file++)
		toggle(model, file, 0);
	ck_assert_uint_ge(model->index[199], EXT2MB_ORPHAN_ON_LIST);
	for (int operation = 0; operation < 3000; operation++) {
		toggle(model, (uint32_t)random_below(&random, MODEL_FILES), (uint32_t)random_next(&random));
		if (random_below(&random, 100) == 0)
			ck_assert_ok(ext2mb_orphan_sync(model->orphans));
	}
	ck_assert_ok(ext2mb_orphan_sync(model->orphans));
	ck_assert_uint_ne(model->fs->super->s_last_orphan, 0);
	empty_again(model->orphans, filler);
	reopen(model);
	for (uint32_t file = 0; file < MODEL_FILES; file++)
		if (model->is_orphan[file])
			toggle(model, file, 0);
	reopen(model);
	ck_assert_uint_eq(model->fs->super->s_last_orphan, 0);
	ck_assert(!ext2fs_has_feature_orphan_present(model->fs->super));
	ext2mb_orphan_close(model->orphans);
	ck_assert_ok(ext2fs_close(model->fs));
	mb_image_check();
	free(model);
}
END_TEST

START_TEST(test_arguments)
{
	struct ext2mb_orphan_options options = { sizeof(options) - 1, NULL };
	struct ext2mb_orphan_released counts = { .struct_bytes = 1 };
	struct ext2mb_orphans *orphans;
	uint32_t index;
	ext2_filsys fs;

	mb_image_make(cases[0].options, cases[0].size);
	fs = mb_image_open();
	ck_assert_error(ext2mb_orphan_open(fs, &options, NULL, 0, &orphans), EXT2MB_ET_BAD_ARGUMENT);
	ext2mb_orphan_close(NULL);
	ck_assert_ok(ext2mb_orphan_open(fs, NULL, NULL, 0, &orphans));
	ck_assert_error(ext2mb_orphan_release(orphans, &counts, NULL, 0), EXT2MB_ET_BAD_ARGUMENT);
	ck_assert_error(ext2mb_orphan_add(orphans, 0, 0, &index), EXT2MB_ET_BAD_RANGE);
	ck_assert_error(ext2mb_orphan_add(orphans, 0, EXT2_ROOT_INO, &index), EXT2MB_ET_BAD_RANGE);
	ck_assert_error(ext2mb_orphan_add(orphans, 0, fs->super->s_inodes_count + 1, &index), EXT2MB_ET_BAD_RANGE);
	ck_assert_ok(ext2mb_orphan_add(orphans, 0, fs->super->s_inodes_count, &index));
	ck_assert_error(ext2mb_orphan_delete(orphans, index, 77), EXT2MB_ET_ORPHAN_ABSENT);
	ck_assert_error(ext2mb_orphan_delete(orphans, EXT2MB_ORPHAN_ON_LIST, 77), EXT2MB_ET_ORPHAN_ABSENT);
	ck_assert_error(ext2mb_orphan_delete(orphans, UINT32_MAX, 77), EXT2MB_ET_ORPHAN_ABSENT);
	ck_assert_error(ext2mb_orphan_delete(orphans, EXT2MB_ORPHAN_ON_LIST - 1, 77), EXT2MB_ET_ORPHAN_ABSENT);
	ext2mb_orphan_close(orphans);
	ck_assert_ok(ext2fs_close(fs));

	ck_assert_ok(ext2fs_open(mb_image_path(), EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs));
	ck_assert_ok(ext2mb_orphan_open(fs, NULL, NULL, 0, &orphans));
	ck_assert_error(ext2mb_orphan_sync(orphans), EXT2_ET_RO_FILSYS);
	ck_assert_error(ext2mb_orphan_release(orphans, NULL, NULL, 0), EXT2_ET_RO_FILSYS);
	ext2mb_orphan_close(orphans);
	ck_assert_ok(ext2fs_close(fs));
	mb_image_check();
}
END_TEST

/* --- threads ------------------------------------------------------------------------------------------------ */

#define FILES_PER_THREAD 12

struct thread {
	pthread_t thread;
	struct ext2mb_orphans *orphans;
	ext2_ino_t first; /* of its own files */
	uint32_t number;
	uint32_t operations;
	struct random random;
	bool is_orphan[FILES_PER_THREAD];
	uint32_t index[FILES_PER_THREAD];
	errcode_t error;
};

static void *add_and_delete(void *context)
{
	struct thread *self = context;

	for (uint32_t operation = 0; operation < self->operations && !self->error; operation++) {
		uint32_t file = (uint32_t)random_below(&self->random, FILES_PER_THREAD);
		ext2_ino_t ino = self->first + file;

		if (self->is_orphan[file])
			self->error = ext2mb_orphan_delete(self->orphans, self->index[file], ino);
		else
			self->error = ext2mb_orphan_add(self->orphans, self->number, ino, &self->index[file]);
		self->is_orphan[file] = !self->is_orphan[file];
	}
	return NULL;
}

/* Each orphan once, and each of those that the threads left. */
static void compare_with_threads(struct ext2mb_orphans *orphans, const struct thread *threads, uint32_t count)
{
	ext2_ino_t first = threads[0].first;
	uint8_t *seen = calloc(count, FILES_PER_THREAD);

	for (uint32_t index = 0, ino; (ino = ext2mb_orphan_next(orphans, &index)); index++) {
		ck_assert_uint_lt(ino - first, count * FILES_PER_THREAD);
		ck_assert_uint_eq(seen[ino - first]++, 0);
	}
	for (uint32_t file = 0; file < count * FILES_PER_THREAD; file++)
		ck_assert_uint_eq(seen[file], threads[file / FILES_PER_THREAD].is_orphan[file % FILES_PER_THREAD]);
	free(seen);
}

static const uint32_t thread_counts[] = { 1, 3, 8, 65, 200 };
#define THREAD_COUNTS 5

/* Threads add and delete while this one syncs; the last third with a file that is full, so on the list as well. */
START_TEST(test_threads)
{
	uint32_t count = thread_counts[_i / TWINS % THREAD_COUNTS];
	bool is_full = _i / TWINS >= THREAD_COUNTS;
	struct random random = random_start("threads");
	struct thread *threads = calloc(count, sizeof(*threads));

	mb_image_make("-t ext4 -b 1024 -N 4096 -O orphan_file", "20M");
	ext2_filsys fs = mb_image_open();
	ext2_ino_t first = make_files(fs, count * FILES_PER_THREAD + 1);
	struct ext2mb_orphans *orphans = open_orphans(fs, NULL, _i % TWINS);
	if (is_full)
		fill_up(orphans, first + count * FILES_PER_THREAD, 5);
	for (uint32_t number = 0; number < count; number++) {
		threads[number] = (struct thread){
			.orphans = orphans,
			.first = first + number * FILES_PER_THREAD,
			.number = number,
			.operations = (uint32_t)mb_operations(20000) / count,
			.random = { random_next(&random) },
		};
		ck_assert_int_eq(pthread_create(&threads[number].thread, NULL, add_and_delete, &threads[number]), 0);
	}
	for (int round = 0; round < 10; round++)
		ck_assert_ok(ext2mb_orphan_sync(orphans));
	for (uint32_t number = 0; number < count; number++) {
		pthread_join(threads[number].thread, NULL);
		ck_assert_ok(threads[number].error);
	}
	if (is_full)
		empty_again(orphans, first + count * FILES_PER_THREAD);
	compare_with_threads(orphans, threads, count);
	ck_assert_ok(ext2mb_orphan_sync(orphans));
	ext2mb_orphan_close(orphans);
	ck_assert_ok(ext2fs_close(fs));

	fs = mb_image_open();
	orphans = open_orphans(fs, NULL, _i % TWINS);
	compare_with_threads(orphans, threads, count);
	ck_assert_ok(ext2mb_orphan_release(orphans, NULL, NULL, 0)); /* truncates empty files to nothing */
	ck_assert_ok(ext2mb_orphan_sync(orphans));
	ck_assert_uint_eq(count_orphans(orphans), 0);
	ext2mb_orphan_close(orphans);
	ck_assert_ok(ext2fs_close(fs));
	mb_image_check();
	free(threads);
}
END_TEST

/* --- release ------------------------------------------------------------------------------------------------ */

#define LONG_BLOCKS 10
#define SHORT_BYTES 1500

/* Makes a file longer than its size says. */
static void lengthen(ext2_filsys fs, ext2_ino_t ino)
{
	struct ext2_inode inode;
	ext2_file_t file;
	uint8_t bytes[1024];
	unsigned int written;

	memset(bytes, 0xaa, sizeof(bytes));
	ck_assert_ok(ext2fs_file_open(fs, ino, EXT2_FILE_WRITE, &file));
	for (int block = 0; block < LONG_BLOCKS; block++)
		ck_assert_ok(ext2fs_file_write(file, bytes, sizeof(bytes), &written));
	ck_assert_ok(ext2fs_file_close(file));
	ck_assert_ok(ext2fs_read_inode(fs, ino, &inode));
	ck_assert_ok(ext2fs_inode_size_set(fs, &inode, SHORT_BYTES));
	ck_assert_ok(ext2fs_write_inode(fs, ino, &inode));
}

/*
 * From the list, where the inode is written once more afterwards; with libext2fs's bitmaps in memory or not, through
 * an allocator that was there or not.
 */
START_TEST(test_release)
{
	bool has_bitmaps = _i & 1, is_attached = _i & 2;
	struct ext2mb_orphan_released counts = { .struct_bytes = sizeof(counts) };
	struct ext2mb_orphans *orphans;
	struct ext2mb *mb = NULL;
	struct ext2_inode inode;
	uint32_t index;
	char why[64];

	mb_image_make("-t ext4 -b 1024 -N 4096 -O ^orphan_file", "20M");
	ext2_filsys fs = mb_image_open();
	ext2_ino_t ino = make_files(fs, 2); /* of which the other one stays empty */
	lengthen(fs, ino);
	orphans = open_orphans(fs, NULL, false);
	ck_assert_ok(ext2mb_orphan_add(orphans, 0, ino + 1, &index));
	ck_assert_ok(ext2mb_orphan_add(orphans, 0, ino, &index));
	ck_assert_ok(ext2mb_orphan_sync(orphans));
	ext2mb_orphan_close(orphans);
	ck_assert_ok(ext2fs_close(fs));

	fs = mb_image_open();
	uint64_t free_blocks = ext2fs_free_blocks_count(fs->super);
	if (has_bitmaps)
		ck_assert_ok(ext2fs_read_bitmaps(fs));
	if (is_attached)
		ck_assert_ok(ext2mb_open(fs, NULL, &mb));
	orphans = open_orphans(fs, mb, false);
	ck_assert_ok(ext2mb_orphan_release(orphans, &counts, why, sizeof(why)));
	ck_assert_ok(ext2mb_orphan_sync(orphans));
	ck_assert_uint_eq(count_orphans(orphans), 0);
	ck_assert_uint_eq(counts.truncated, 2);
	ck_assert_uint_eq(counts.deleted, 0);
	ck_assert_uint_eq(counts.blocks, LONG_BLOCKS - 2);
	if (is_attached)
		ck_assert_ok(ext2mb_sync(mb));
	ext2mb_orphan_close(orphans);
	ext2mb_close(mb);
	ck_assert_uint_eq(ext2fs_free_blocks_count(fs->super), free_blocks + LONG_BLOCKS - 2);
	ck_assert_ok(ext2fs_close(fs));

	fs = mb_image_open();
	ck_assert_ok(ext2fs_read_inode(fs, ino, &inode));
	ck_assert_uint_eq(EXT2_I_SIZE(&inode), SHORT_BYTES);
	ck_assert_uint_eq(inode.i_dtime, 0);
	ck_assert_uint_eq(inode.i_blocks, 2 * 2);
	ck_assert_ok(ext2fs_close(fs));
	mb_image_check();
}
END_TEST

static Suite *orphan_file_suite(void)
{
	Suite *suite = suite_create("orphan_file");
	TCase *file = tcase_create("file");

	tcase_add_unchecked_fixture(file, mb_image_setup, mb_image_teardown);
	tcase_set_timeout(file, 600);
	tcase_add_loop_test(file, test_model, 0, CASES * TWINS);
	tcase_add_test(file, test_arguments);
	tcase_add_loop_test(file, test_threads, 0, 2 * THREAD_COUNTS * TWINS);
	tcase_add_loop_test(file, test_release, 0, 4);
	suite_add_tcase(suite, file);
	return suite;
}

int main(void)
{
	return run_suite(orphan_file_suite());
}
