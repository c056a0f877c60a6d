/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

static const struct {
	const char *options;
	const char *size;
	bool loads_bitmaps;
} cases[] = {
	{ "-t ext4 -b 4096 -g 1024 -N 20000", "200M", false },
	{ "-t ext4 -b 1024 -O ^flex_bg,^64bit", "50001K", true },
	{ "-t ext4 -b 1024 -O ^metadata_csum,uninit_bg", "60M", false },
	{ "-t ext4 -b 4096 -O bigalloc -N 5000 -g 8192", "400M", false },
	{ "-t ext2 -b 1024 -N 3000", "40M", false },
};

enum { FREE, FOREIGN, FILE_INODE, DIRECTORY_INODE };

struct model {
	ext2_filsys fs;
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	struct random random;
	uint8_t *inodes; /* number 1 first */
	uint64_t count;
	uint64_t free_inodes;
	uint32_t first;
};

static void open_model(struct model *model, const char *options, const char *size, bool loads_bitmaps)
{
	mb_image_make(options, size);
	model->inodes = mb_image_read_inodes(&model->count);
	model->fs = mb_image_open();
	if (loads_bitmaps)
		ck_assert_ok(ext2fs_read_bitmaps(model->fs));
	ck_assert_ok(ext2mb_open(model->fs, NULL, &model->mb));
	ck_assert_ok(ext2mb_worker_open(model->mb, &model->worker));
	model->first = EXT2_FIRST_INODE(model->fs->super);
	for (uint64_t index = 0; index < model->count; index++)
		model->free_inodes += model->inodes[index] == FREE;
	ck_assert_uint_eq(ext2mb_free_inodes(model->mb), model->free_inodes);
}

static errcode_t take(struct model *model, ext2_ino_t parent, ext2_ino_t goal, uint32_t flags, const char *name,
                      ext2_ino_t *ino)
{
	struct ext2mb_inode_request request = {
		.struct_bytes = sizeof(request),
		.parent = parent,
		.goal = goal,
		.name = name,
		.flags = flags,
	};
	errcode_t error = ext2mb_inode_alloc(model->worker, &request, ino);

	if (error)
		return error;
	ck_assert(*ino >= model->first && *ino <= model->count);
	ck_assert_uint_eq(model->inodes[*ino - 1], FREE);
	model->inodes[*ino - 1] = flags & EXT2MB_INODE_DIRECTORY ? DIRECTORY_INODE : FILE_INODE;
	model->free_inodes--;
	return 0;
}

static void give(struct model *model, ext2_ino_t ino)
{
	ck_assert_ok(ext2mb_inode_free(model->worker, ino, model->inodes[ino - 1] == DIRECTORY_INODE));
	model->inodes[ino - 1] = FREE;
	model->free_inodes++;
}

static void query(struct model *model, ext2_ino_t ino)
{
	int is_in_use = 2;
	errcode_t error = ext2mb_query_inode(model->mb, ino, &is_in_use);

	if (ino < model->first || ino > model->count) {
		ck_assert_error(error, EXT2MB_ET_BAD_RANGE);
		return;
	}
	ck_assert_ok(error);
	ck_assert_int_eq(is_in_use, model->inodes[ino - 1] != FREE);
}

static void close_model(struct model *model)
{
	ext2mb_worker_close(model->worker);
	ext2mb_close(model->mb);
	ck_assert_ok(ext2fs_close(model->fs));
	free(model->inodes);
}

/* Counters and bitmaps on disk against the model, by a fresh libext2fs. */
static void compare_with_disk(const struct model *model)
{
	uint64_t count;
	uint8_t *used = mb_image_read_inodes(&count);
	ext2_filsys fs = mb_image_open();
	uint32_t per_group = fs->super->s_inodes_per_group;
	uint64_t directories = 0, expected = 2; /* the root and lost+found */

	for (uint64_t index = 0; index < count; index++) {
		if (used[index] != (model->inodes[index] != FREE))
			ck_abort_msg("inode %llu differs on disk", (unsigned long long)index + 1);
		expected += model->inodes[index] == DIRECTORY_INODE;
		uint32_t group = (uint32_t)(index / per_group);
		if (used[index] && ext2fs_has_group_desc_csum(fs)) {
			ck_assert(!ext2fs_bg_flags_test(fs, group, EXT2_BG_INODE_UNINIT));
			ck_assert_uint_lt(index % per_group, per_group - ext2fs_bg_itable_unused(fs, group));
		}
	}
	for (uint32_t group = 0; group < fs->group_desc_count; group++)
		directories += ext2fs_bg_used_dirs_count(fs, group);
	ck_assert_uint_eq(directories, expected);
	ck_assert_uint_eq(fs->super->s_free_inodes_count, model->free_inodes);
	ck_assert_ok(ext2fs_close(fs));
	free(used);
}

static ext2_ino_t random_used(struct model *model)
{
	uint64_t start = random_below(&model->random, model->count);

	for (uint64_t step = 0; step < model->count; step++) {
		uint64_t index = (start + step) % model->count;

		if (model->inodes[index] >= FILE_INODE)
			return (ext2_ino_t)index + 1;
	}
	return 0;
}

static void operate(struct model *model)
{
	struct random *random = &model->random;
	uint32_t flags = random_below(random, 4) ? 0 : EXT2MB_INODE_DIRECTORY;
	ext2_ino_t goal = (ext2_ino_t)random_below(random, model->count + 1);
	ext2_ino_t ino;

	switch (random_below(random, 8)) {
	case 0 ... 2: {
		errcode_t error =
			take(model, random_below(random, 2) ? EXT2_ROOT_INO : 1 + goal % (ext2_ino_t)model->count, 0,
		             flags, random_below(random, 2) ? "name" : NULL, &ino);
		ck_assert_error(error, model->free_inodes || !error ? 0 : EXT2MB_ET_NO_INODES);
		break;
	}
	case 3: {
		uint64_t expected = goal > model->first ? goal : model->first;

		while (expected <= model->count && model->inodes[expected - 1] != FREE)
			expected++;
		errcode_t error = take(model, 0, goal, flags | EXT2MB_INODE_PACK, NULL, &ino);
		ck_assert_error(error, expected > model->count ? EXT2MB_ET_NO_INODES : 0);
		if (!error)
			ck_assert_uint_eq(ino, expected);
		break;
	}
	case 4:
		goal = (ext2_ino_t)random_below(random, model->count + 100);
		query(model, goal);
		if (goal < model->first || goal > model->count)
			ck_assert_error(ext2mb_inode_free(model->worker, goal, 0), EXT2MB_ET_BAD_RANGE);
		else if (model->inodes[goal - 1] == FREE)
			ck_assert_error(ext2mb_inode_free(model->worker, goal, 0), EXT2MB_ET_DOUBLE_FREE);
		break;
	default:
		ino = random_used(model);
		if (ino)
			give(model, ino);
	}
	ck_assert_uint_eq(ext2mb_free_inodes(model->mb), model->free_inodes);
}

START_TEST(test_model)
{
	struct model model = { .random = random_start(cases[_i].options) };
	uint64_t operations = mb_operations(3000);
	ext2_ino_t ino;

	open_model(&model, cases[_i].options, cases[_i].size, cases[_i].loads_bitmaps);
	for (uint64_t operation = 0; operation < operations; operation++) {
		operate(&model);
		/* To the last inode in the middle. */
		while (operation == operations / 2 && !take(&model, 2, 0, operation % 2, NULL, &ino))
			;
		if (operation == operations / 2)
			ck_assert_uint_eq(model.free_inodes, 0);
	}
	mb_check(model.mb);
	ck_assert_ok(ext2mb_sync(model.mb));
	ck_assert_ok(ext2fs_flush(model.fs));
	compare_with_disk(&model);
	while ((ino = random_used(&model)))
		give(&model, ino);
	ck_assert_ok(ext2mb_sync(model.mb));
	mb_check(model.mb);
	close_model(&model);
	mb_image_check();
}
END_TEST

/* Directories in the root are spread over the flex groups, files and directories below stay near their parent. */
START_TEST(test_orlov)
{
	struct model model = { .random = { 0 } };
	unsigned int per_flex[4] = { 0 };
	char name[16];
	ext2_ino_t ino, file, directory;

	/* 64 groups of 256 inodes, 16 to a flex group; those of the first have fewer free clusters. */
	open_model(&model, "-t ext4 -b 4096 -g 2048 -G 16 -N 16384 -O ^has_journal", "512M", false);
	ck_assert_uint_eq(model.fs->super->s_inodes_per_group, 256);
	for (unsigned int number = 0; number < 30; number++) {
		snprintf(name, sizeof(name), "dir%u", number);
		ck_assert_ok(take(&model, EXT2_ROOT_INO, 0, EXT2MB_INODE_DIRECTORY, name, &directory));
		uint32_t flex = (directory - 1) / 256 / 16;
		per_flex[flex]++;
		for (unsigned int child = 0; child < 10; child++) {
			ck_assert_ok(take(&model, directory, 0, 0, NULL, &file));
			ck_assert_uint_eq((file - 1) / 256 / 16, flex);
		}
		ck_assert_ok(take(&model, directory, 0, EXT2MB_INODE_DIRECTORY, "sub", &ino));
		ck_assert_uint_eq((ino - 1) / 256 / 16, flex);
	}
	unsigned int used = 0;
	for (unsigned int flex = 0; flex < 4; flex++)
		used += per_flex[flex] >= 5;
	ck_assert_msg(used >= 3, "directories per flex group: %u %u %u %u", per_flex[0], per_flex[1], per_flex[2],
	              per_flex[3]);
	mb_check(model.mb);
	close_model(&model);
}
END_TEST

/* Without flex_bg a file goes to its parent's own group, and somewhere else when that is full. */
START_TEST(test_parent_group)
{
	struct model model = { .random = { 0 } };
	ext2_ino_t ino;

	open_model(&model, "-t ext4 -b 4096 -g 2048 -N 6400 -O ^has_journal,^flex_bg,^resize_inode", "200M", false);
	uint32_t per_group = model.fs->super->s_inodes_per_group;
	for (uint32_t number = 0; number < per_group; number++) {
		ck_assert_ok(take(&model, 5 * per_group + 1, 0, 0, NULL, &ino));
		ck_assert_uint_eq((ino - 1) / per_group, 5);
	}
	ck_assert_ok(take(&model, 5 * per_group + 1, 0, 0, NULL, &ino));
	ck_assert_uint_ne((ino - 1) / per_group, 5);
	close_model(&model);
}
END_TEST

/* Inodes that were taken through the allocator hold files: all of it then agrees with e2fsck. */
START_TEST(test_files)
{
	struct model model = { .random = { 0 } };
	ext2_ino_t inodes[200];
	char name[16];

	open_model(&model, cases[_i].options, cases[_i].size, cases[_i].loads_bitmaps);
	for (unsigned int number = 0; number < 200; number++)
		ck_assert_ok(take(&model, EXT2_ROOT_INO, number % 3 ? 0 : (ext2_ino_t)(model.count / 2),
		                  number % 3 ? 0 : EXT2MB_INODE_PACK, NULL, &inodes[number]));
	ck_assert_ok(ext2mb_sync(model.mb));
	ext2mb_worker_close(model.worker);
	ext2mb_close(model.mb);
	if (!cases[_i].loads_bitmaps)
		ck_assert_ok(ext2fs_read_bitmaps(model.fs));
	for (unsigned int number = 0; number < 200; number++) {
		struct ext2_inode inode = { .i_mode = S_IFREG | 0644, .i_links_count = 1 };

		ck_assert(ext2fs_test_inode_bitmap2(model.fs->inode_map, inodes[number]));
		ck_assert_ok(ext2fs_write_new_inode(model.fs, inodes[number], &inode));
		snprintf(name, sizeof(name), "f%u", number);
		errcode_t error = ext2fs_link(model.fs, EXT2_ROOT_INO, name, inodes[number], EXT2_FT_REG_FILE);
		if (error == EXT2_ET_DIR_NO_SPACE) {
			ck_assert_ok(ext2fs_expand_dir(model.fs, EXT2_ROOT_INO));
			error = ext2fs_link(model.fs, EXT2_ROOT_INO, name, inodes[number], EXT2_FT_REG_FILE);
		}
		ck_assert_ok(error);
	}
	ck_assert_ok(ext2fs_close(model.fs));
	mb_image_check();
	free(model.inodes);
}
END_TEST

static Suite *inodes_suite(void)
{
	Suite *suite = suite_create("ext2mb_inodes");
	TCase *inodes = tcase_create("inodes");

	tcase_add_unchecked_fixture(inodes, mb_image_setup, mb_image_teardown);
	tcase_set_timeout(inodes, 3600);
	tcase_add_loop_test(inodes, test_model, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_test(inodes, test_orlov);
	tcase_add_test(inodes, test_parent_group);
	tcase_add_loop_test(inodes, test_files, 0, sizeof(cases) / sizeof(*cases));
	suite_add_tcase(suite, inodes);
	return suite;
}

int main(void)
{
	return run_suite(inodes_suite());
}
