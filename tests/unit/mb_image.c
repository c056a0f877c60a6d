/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mb_image.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "unit.h"

static char scratch[SCRATCH_BYTES];
static char image_path[SCRATCH_BYTES + 8];

void mb_image_setup(void)
{
	scratch_make("mb", scratch);
	snprintf(image_path, sizeof(image_path), "%s/image", scratch);
	initialize_ext2_error_table();
}

void mb_image_teardown(void)
{
	scratch_remove(scratch);
}

TCase *mb_image_case(Suite *suite)
{
	TCase *tests = tcase_create("image");

	tcase_add_unchecked_fixture(tests, mb_image_setup, mb_image_teardown);
	tcase_set_timeout(tests, 600);
	suite_add_tcase(suite, tests);
	return tests;
}

const char *mb_image_path(void)
{
	return image_path;
}

void mb_image_make(const char *mke2fs_options, const char *size)
{
	unlink(image_path);
	scratch_run("mke2fs -q -F %s '%s' %s >/dev/null 2>&1", mke2fs_options, image_path, size);
}

void mb_image_check(void)
{
	scratch_run("e2fsck -fn '%s' >'%s.log' 2>&1 || { sed 's/^/# /' '%s.log'; false; }", image_path, image_path,
	            image_path);
	scratch_run("rm '%s.log'", image_path);
}

ext2_filsys mb_image_open(void)
{
	ext2_filsys fs;

	ck_assert_ok(ext2fs_open(image_path, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs));
	return fs;
}

void small_image_open(struct small_image *image, const struct ext2mb_options *options)
{
	image->fs = mb_image_open();
	ck_assert_ok(ext2mb_open(image->fs, options, &image->mb));
	ck_assert_ok(ext2mb_worker_open(image->mb, &image->worker));
}

void small_image_close(struct small_image *image)
{
	ck_assert_ok(ext2mb_sync(image->mb));
	mb_check(image->mb);
	ext2mb_worker_close(image->worker);
	ck_assert_uint_eq(ext2mb_reserved_blocks(image->mb), 0);
	ck_assert_ok(ext2mb_close(image->mb));
	ck_assert_ok(ext2fs_close(image->fs));
}

void small_image_open_policy(struct small_image *image, const struct policy_options *options)
{
	image->fs = mb_image_open();
	ck_assert_ok(policy_open(image->fs, options, &image->mb));
	ck_assert_ok(ext2mb_worker_open(image->mb, &image->worker));
}

uint8_t *mb_image_read_clusters(uint64_t *count)
{
	ext2_filsys fs = mb_image_open();
	uint64_t first = fs->super->s_first_data_block;

	ck_assert_ok(ext2fs_read_bitmaps(fs));
	*count = (ext2fs_blocks_count(fs->super) - first) >> fs->cluster_ratio_bits;
	uint8_t *used = malloc(*count);
	for (uint64_t cluster = 0; cluster < *count; cluster++)
		used[cluster] = !!ext2fs_test_block_bitmap2(fs->block_map, first + (cluster << fs->cluster_ratio_bits));
	ck_assert_ok(ext2fs_close(fs));
	return used;
}

uint8_t *mb_image_read_inodes(uint64_t *count)
{
	ext2_filsys fs = mb_image_open();

	ck_assert_ok(ext2fs_read_bitmaps(fs));
	*count = fs->super->s_inodes_count;
	uint8_t *used = malloc(*count);
	for (uint64_t index = 0; index < *count; index++)
		used[index] = !!ext2fs_test_inode_bitmap2(fs->inode_map, (ext2_ino_t)index + 1);
	ck_assert_ok(ext2fs_close(fs));
	return used;
}

static void link_file(ext2_filsys fs, ext2_ino_t ino)
{
	char name[32];

	snprintf(name, sizeof(name), "file-%u", ino);
	errcode_t error = ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE);
	if (error == EXT2_ET_DIR_NO_SPACE) {
		ck_assert_ok(ext2fs_expand_dir(fs, EXT2_ROOT_INO));
		error = ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE);
	}
	ck_assert_ok(error);
}

#define EXTENTS_IN_INODE 4

/* Takes what one inode without further blocks can hold off the front of the list. */
static void attach_one(ext2_filsys fs, struct ext2mb_extent *extents, size_t *left)
{
	struct ext2_inode inode = { .i_mode = S_IFREG | 0644, .i_links_count = 1 };
	ext2_extent_handle_t handle = NULL;
	uint64_t logical = 0;
	ext2_ino_t ino;

	ck_assert_ok(ext2fs_new_inode(fs, EXT2_ROOT_INO, S_IFREG, NULL, &ino));
	ext2fs_inode_alloc_stats2(fs, ino, 1, 0);
	if (ext2fs_has_feature_extents(fs->super)) {
		inode.i_flags = EXT4_EXTENTS_FL;
		ck_assert_ok(ext2fs_write_new_inode(fs, ino, &inode));
		ck_assert_ok(ext2fs_extent_open(fs, ino, &handle));
		for (size_t number = 0; number < EXTENTS_IN_INODE && *left; number++) {
			struct ext2mb_extent *extent = &extents[*left - 1];
			uint64_t count = extent->count < 16384 ? extent->count : 16384;
			struct ext2fs_extent mapped = { extent->start, logical, (uint32_t)count, 0 };

			ck_assert_ok(ext2fs_extent_insert(handle, number ? EXT2_EXTENT_INSERT_AFTER : 0, &mapped));
			logical += count;
			extent->start += count;
			extent->count -= count;
			*left -= !extent->count;
		}
		ext2fs_extent_free(handle);
		ck_assert_ok(ext2fs_read_inode(fs, ino, &inode));
	}
	while (!handle && *left && logical < EXT2_NDIR_BLOCKS) {
		inode.i_block[logical++] = (uint32_t)extents[*left - 1].start++;
		*left -= !--extents[*left - 1].count;
	}
	ext2fs_iblk_set(fs, &inode, logical >> fs->cluster_ratio_bits);
	ck_assert_ok(ext2fs_inode_size_set(fs, &inode, logical * fs->blocksize));
	if (handle)
		ck_assert_ok(ext2fs_write_inode(fs, ino, &inode));
	else
		ck_assert_ok(ext2fs_write_new_inode(fs, ino, &inode));
	link_file(fs, ino);
}

void mb_image_attach(ext2_filsys fs, const struct ext2mb_extent *extents, size_t count)
{
	struct ext2mb_extent *left = malloc((count + 1) * sizeof(*left));

	memcpy(left, extents, count * sizeof(*left));
	ck_assert_ok(ext2fs_read_bitmaps(fs));
	while (count)
		attach_one(fs, left, &count);
	free(left);
}

struct ext2mb_criterion_stats mb_criterion_stats(struct ext2mb *mb, unsigned int index)
{
	struct ext2mb_criterion_stats stats = { .struct_bytes = sizeof(stats) };

	ck_assert_ok(ext2mb_read_criterion_stats(mb, index, &stats));
	return stats;
}

void mb_check(struct ext2mb *mb)
{
	char why[256] = "";
	errcode_t error = ext2mb_check(mb, why, sizeof(why));

	ck_assert_msg(error == 0, "%s: %s", error_message(error), why);
}

unsigned int mb_free_extents(struct ext2mb *mb)
{
	struct ext2mb_extent extent = { 0 };
	unsigned int count = 0;
	uint64_t end = 0;

	while (!ext2mb_next_free(mb, end, &extent)) {
		count += extent.start != end;
		end = extent.start + extent.count;
	}
	return count;
}

static uint32_t choice_of(const char *name)
{
	for (const struct choice *choice = all_choices; choice->name; choice++)
		if (!strcmp(choice->name, name))
			return choice->choice;
	ck_abort_msg("TEST_POLICY: no choice %s", name);
	return 0;
}

const struct policy_options *mb_options(void)
{
	static struct policy_options options;
	const char *wanted = getenv("TEST_POLICY");
	char text[512];

	snprintf(text, sizeof(text), "%s", wanted ? wanted : "");
	options.choices_added = options.choices_dropped = 0;
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
		if (*word == '+')
			options.choices_added |= choice_of(word + 1);
		else if (*word == '-')
			options.choices_dropped |= choice_of(word + 1);
		else
			ck_assert_ok(policy_find(word, &options.policy));
	}
	return &options;
}

uint64_t mb_operations(uint64_t otherwise)
{
	const char *text = getenv("TEST_OPERATIONS");

	return text ? strtoull(text, NULL, 10) : otherwise;
}

void mb_expect_free_extents(struct ext2mb *mb, unsigned int most)
{
	ck_assert_ok(ext2mb_sync(mb));
	unsigned int extents = mb_free_extents(mb);

	printf("# %u free extents, at most %u\n", extents, most);
	ck_assert_uint_le(extents, most);
}
