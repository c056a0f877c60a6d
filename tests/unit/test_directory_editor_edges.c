/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The editor of directories without a filesystem: what it refuses, what it leaves alone when blocks run out, and blocks
 * that are damaged in any way, with checksums that fit and that do not.
 */
#include "update/directory/directory_editor.h"

#include <errno.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "mb_image.h"
#include "memory_directory.h"
#include "unit.h"

static const struct directory_target some_file = { 500, EXT2_FT_REG_FILE };

static void make_directory(struct memory_directory *directory, struct random *random, uint32_t block_bytes,
                           bool checksums, uint32_t names, uint32_t more_blocks)
{
	struct name_set set = name_set_start();

	memory_directory_make(directory, block_bytes, checksums);
	name_set_add_random(&set, random, names, 4, 255);
	memory_directory_fill(directory, &set, more_blocks);
	name_set_free(&set);
}

static struct directory_name numbered(char text[32], uint32_t number)
{
	return (struct directory_name){ text, (uint8_t)snprintf(text, 32, "n.%u", number) };
}

START_TEST(names_and_inodes_that_cannot_be)
{
	static const char *const wrong[] = { "", ".", "..", "a/b", "/" };
	struct random random = random_start("refused");
	struct memory_directory directory;
	struct directory_editor *editor;
	struct directory_entry entry;

	make_directory(&directory, &random, 1024, true, 100, 8);
	ck_assert_ok(memory_directory_open(&directory, &editor));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct directory_name name = { wrong[i], (uint8_t)strlen(wrong[i]) };

		ck_assert_error(directory_editor_find(editor, name, &entry), EINVAL);
		ck_assert_error(directory_editor_add(editor, name, some_file), EINVAL);
		ck_assert_error(directory_editor_replace(editor, name, some_file), EINVAL);
		ck_assert_error(directory_editor_remove(editor, name), EINVAL);
	}
	ck_assert_error(directory_editor_find(editor, (struct directory_name){ "a\0b", 3 }, &entry), EINVAL);
	struct directory_name good = { "...", 3 };

	ck_assert_error(directory_editor_add(editor, good, (struct directory_target){ 0 }), EINVAL);
	ck_assert_error(directory_editor_add(editor, good, (struct directory_target){ MEMORY_INODES + 1, 0 }), EINVAL);
	ck_assert_error(directory_editor_set_parent(editor, 0), EINVAL);
	ck_assert_error(directory_editor_set_parent(editor, MEMORY_INODES + 1), EINVAL);
	ck_assert_uint_eq(directory_editor_cost(editor).written_blocks, 0);
	ck_assert_ok(directory_editor_add(editor, good, some_file));
	directory_editor_close(editor);
	memory_directory_free(&directory);
}
END_TEST

START_TEST(directories_that_cannot_be)
{
	struct random random = random_start("maps");
	struct memory_directory directory;
	struct directory_editor *editor;
	struct file_extent extent;

	make_directory(&directory, &random, 1024, true, 100, 8);
	struct directory_editor_options good = memory_directory_options(&directory, &extent), options = good;

	options.flags |= EXT4_ENCRYPT_FL;
	ck_assert_error(directory_editor_open(&options, &editor), EOPNOTSUPP);
	ck_assert_ptr_null(editor);
	options = good;
	options.flags |= EXT4_CASEFOLD_FL;
	ck_assert_error(directory_editor_open(&options, &editor), EXT2_ET_DIR_CORRUPTED);
	for (uint64_t size = 0; size < good.size_bytes + 3000; size += 512) {
		options = good;
		options.size_bytes = size;
		if (size != good.size_bytes)
			ck_assert_error(directory_editor_open(&options, &editor), EXT2_ET_DIR_CORRUPTED);
	}
	struct file_extent hole[] = { { 0, 2, 0 }, { 3, directory.blocks - 3, 3 } };

	options = good;
	options.extents = hole;
	options.extent_count = 2;
	ck_assert_error(directory_editor_open(&options, &editor), EXT2_ET_DIR_CORRUPTED);
	extent.count |= FILE_EXTENT_UNWRITTEN;
	ck_assert_error(directory_editor_open(&good, &editor), EXT2_ET_DIR_CORRUPTED);
	memory_directory_free(&directory);
}
END_TEST

START_TEST(errors_of_reading_last)
{
	struct random random = random_start("EIO");
	struct memory_directory directory;
	struct directory_editor *editor;
	struct directory_state state;
	char text[32];

	make_directory(&directory, &random, 1024, true, 100, 8);
	ck_assert_ok(memory_directory_open(&directory, &editor));
	directory.is_unreadable = true;
	ck_assert_error(directory_editor_add(editor, numbered(text, 1), some_file), EIO);
	directory.is_unreadable = false;
	ck_assert_error(directory_editor_add(editor, numbered(text, 1), some_file), EIO);
	ck_assert_error(directory_editor_flush(editor, &state), EIO);
	ck_assert_uint_eq(directory.writes, 0);
	directory_editor_close(editor);
	memory_directory_free(&directory);
}
END_TEST

#define NEW_NAMES 200u

static void expect_new_names(struct directory_editor *editor)
{
	struct directory_entry entry;
	char text[32];

	for (uint32_t number = 0; number < NEW_NAMES; number++)
		ck_assert_ok(directory_editor_find(editor, numbered(text, number), &entry));
}

/* Blocks run out after so many: nothing is written, and with more blocks all is there. False: they did not run out. */
static bool try_with_blocks(int64_t left)
{
	struct random random = { 5 };
	struct memory_directory directory;
	struct directory_editor *editor;
	struct directory_state state;
	struct file_extent extent;
	char text[32];

	make_directory(&directory, &random, 1024, true, 300, 600);
	directory.gap_blocks = 1;
	size_t bytes = (size_t)directory.most_blocks << directory.format.block_bits;
	uint8_t *before = malloc(bytes);

	memcpy(before, directory.bytes, bytes);
	ck_assert_ok(memory_directory_open(&directory, &editor));
	for (uint32_t number = 0; number < NEW_NAMES; number++)
		ck_assert_ok(directory_editor_add(editor, numbered(text, number), some_file));
	uint32_t wanted = directory_editor_cost(editor).new_blocks;

	directory.blocks_left = left;
	errcode_t error = directory_editor_flush(editor, &state);

	ck_assert_error(error, left < wanted ? ENOSPC : 0);
	if (error) {
		ck_assert_mem_eq(before, directory.bytes, bytes);
		ck_assert_uint_eq(directory.taken, left);
		directory.blocks_left = -1;
		ck_assert_ok(directory_editor_flush(editor, &state));
	}
	free(before);
	/* As its inode has it after that. */
	struct directory_editor_options options = memory_directory_options(&directory, &extent);
	struct directory_editor *again;

	ck_assert_uint_eq(state.size_bytes, options.size_bytes + ((uint64_t)wanted << directory.format.block_bits));
	options.size_bytes = state.size_bytes;
	options.extents = state.extents;
	options.extent_count = state.extent_count;
	ck_assert_ok(directory_editor_open(&options, &again));
	directory_editor_close(editor);
	expect_new_names(again);
	directory_editor_close(again);
	memory_directory_free(&directory);
	return error;
}

START_TEST(without_blocks_nothing_is_written)
{
	for (int64_t left = 0; try_with_blocks(left); left++)
		;
}
END_TEST

/* More than is kept in memory. */
START_TEST(a_large_linear_directory)
{
	struct random random = random_start("large");
	struct memory_directory directory;
	struct name_set set = name_set_start();
	struct directory_editor *editor;
	struct directory_entry entry;
	char text[32];

	memory_directory_make(&directory, 65536, true);
	directory.format.dir_index = false;
	name_set_add_random(&set, &random, 248 * 600, 255, 255);
	memory_directory_fill(&directory, &set, 8);
	ck_assert_ok(memory_directory_open(&directory, &editor));
	ck_assert_error(directory_editor_find(editor, numbered(text, 1), &entry), ENOENT);
	ck_assert_ok(directory_editor_remove(editor, set.names[7]));
	ck_assert_ok(directory_editor_add(editor, numbered(text, 1), some_file));
	ck_assert_error(directory_editor_find(editor, numbered(text, 2), &entry), ENOENT);
	ck_assert_ok(directory_editor_find(editor, numbered(text, 1), &entry));
	ck_assert_uint_eq(directory_editor_cost(editor).written_blocks, 1);
	directory_editor_close(editor);
	name_set_free(&set);
	memory_directory_free(&directory);
}
END_TEST

static bool may_be(errcode_t error)
{
	return !error || error == ENOENT || error == EEXIST || error == EFBIG || error == ENOSPC ||
	       error == EXT2_ET_DIR_CORRUPTED || error == EXT2_ET_DIR_CSUM_INVALID || error == EXT2_ET_DIRHASH_UNSUPP;
}

static void use(struct memory_directory *directory, struct random *random, const struct name_set *set)
{
	struct directory_editor *editor;
	struct directory_entry entry;
	struct directory_state state;
	uint32_t ino;
	errcode_t error = memory_directory_open(directory, &editor);

	ck_assert_msg(may_be(error), "%s", error_message(error));
	if (error)
		return;
	for (unsigned int i = 0; i < 60; i++) {
		const struct directory_name name = set->names[random_below(random, set->count)];
		char text[32];
		struct directory_name other = numbered(text, (uint32_t)random_below(random, 1000));

		error = directory_editor_find(editor, name, &entry);
		ck_assert_msg(may_be(error), "%s", error_message(error));
		error = directory_editor_add(editor, i % 2 ? other : name, some_file);
		ck_assert_msg(may_be(error), "%s", error_message(error));
		error = directory_editor_remove(editor, name);
		ck_assert_msg(may_be(error), "%s", error_message(error));
	}
	error = directory_editor_parent(editor, &ino);
	ck_assert_msg(may_be(error), "%s", error_message(error));
	error = directory_editor_set_parent(editor, 3);
	ck_assert_msg(may_be(error), "%s", error_message(error));
	error = directory_editor_flush(editor, &state);
	ck_assert_msg(may_be(error), "%s", error_message(error));
	directory_editor_close(editor);
}

/* Mostly where numbers are: heads of index blocks and of entries. */
static void damage(struct memory_directory *directory, struct random *random)
{
	uint32_t block_bytes = directory->format.block_bytes;
	uint32_t block = (uint32_t)random_below(random, random_below(random, 2) ? 3 : directory->blocks);

	for (uint64_t count = 1 + random_below(random, 4); count; count--) {
		uint32_t limit = random_below(random, 2) ? 48 : block_bytes;
		uint8_t *at = directory->bytes + (size_t)block * block_bytes + random_below(random, limit);

		if (random_below(random, 3))
			*at = (uint8_t)random_next(random);
		else
			*at ^= (uint8_t)(1u << random_below(random, 8));
	}
	if (random_below(random, 8))
		memory_directory_seal(directory, block);
}

START_TEST(damaged_blocks)
{
	const uint32_t names[] = { 3, 60, 700 }; /* linear; one level; of full leaves, with nodes below the root */
	struct random random = random_start("damaged");

	for (unsigned int round = 0; round < (is_soak() ? 30000u : 1500u); round++) {
		struct memory_directory directory;
		struct name_set set = name_set_start();
		unsigned int kind = round % 3;

		memory_directory_make(&directory, 1024, round % 2);
		directory.format.large_dir = round % 5 == 0;
		name_set_add_random(&set, &random, names[kind], kind == 2 ? 200 : 4, 255);
		memory_directory_fill(&directory, &set, 200);
		damage(&directory, &random);
		use(&directory, &random, &set);
		name_set_free(&set);
		memory_directory_free(&directory);
	}
}
END_TEST

/* Inline data of a few names, in a room that they may outgrow. */
static void use_inline(struct random *random, const uint8_t *data, uint32_t bytes, bool may_fail)
{
	struct memory_directory directory;
	struct directory_editor *editor;
	struct directory_state state;
	struct file_extent extent;
	uint32_t ino;
	char text[32];

	memory_directory_make(&directory, 1024, random_below(random, 2));
	directory.most_blocks = 4;
	directory.bytes = calloc(4, 1024);
	struct directory_editor_options options = memory_directory_options(&directory, &extent);

	options.flags = EXT4_INLINE_DATA_FL;
	options.extent_count = 0;
	options.inline_data = data;
	options.inline_bytes = bytes;
	options.inline_room_bytes = 160;
	errcode_t error = directory_editor_open(&options, &editor);

	ck_assert_msg(!error || may_fail, "%s", error_message(error));
	for (uint32_t number = 0; !error && number < 30; number++) {
		struct directory_name name = numbered(text, (uint32_t)random_below(random, 15));

		error = directory_editor_add(editor, name, some_file);
		if (error == EEXIST)
			error = directory_editor_remove(editor, name);
		ck_assert_msg(!error || (may_fail && may_be(error)), "%s", error_message(error));
	}
	if (!error) {
		ck_assert_ok(directory_editor_set_parent(editor, 77));
		ck_assert_ok(directory_editor_parent(editor, &ino));
		ck_assert_uint_eq(ino, 77);
		ck_assert_ok(directory_editor_flush(editor, &state));
		ck_assert(state.is_changed);
		if (state.flags & EXT4_INLINE_DATA_FL)
			ck_assert_uint_eq(state.size_bytes, state.inline_bytes);
		else
			ck_assert(state.size_bytes == 1024 && state.extent_count == 1 && directory.writes == 1);
	}
	if (editor)
		directory_editor_close(editor);
	memory_directory_free(&directory);
}

START_TEST(inline_data_sound_and_damaged)
{
	struct random random = random_start("inline");

	for (unsigned int round = 0; round < (is_soak() ? 100000u : 2500u); round++) {
		struct name_set set = name_set_start();
		struct ondisk_format format = { .filetype = true };

		name_set_add_random(&set, &random, (uint32_t)random_below(&random, 5), 4, 20);
		const struct directory_source source = name_set_source(&set);
		uint32_t bytes = directory_inline_bytes(&source, 160);
		uint8_t *data = calloc(1, bytes);

		set.ino_count = 800;
		ck_assert_ok(directory_build_inline(&format, &source, 2, data, bytes));
		for (unsigned int n = round % 3; n; n--)
			data[random_below(&random, bytes)] = (uint8_t)random_next(&random);
		use_inline(&random, data, bytes, round % 3);
		free(data);
		name_set_free(&set);
	}
}
END_TEST

/* Equal changes of equal directories give equal bytes; ".." of each form can be changed. */
START_TEST(the_same_bytes_each_time)
{
	uint8_t *first = NULL;

	for (unsigned int round = 0; round < 2; round++) {
		struct random random = { 7 };
		struct memory_directory directory;
		struct directory_editor *editor;
		struct directory_state state;
		uint32_t ino;
		char text[32];

		make_directory(&directory, &random, 1024, true, 500, 600);
		size_t bytes = (size_t)directory.most_blocks << directory.format.block_bits;

		ck_assert_ok(memory_directory_open(&directory, &editor));
		for (uint32_t number = 0; number < 1000; number++) {
			ck_assert_ok(directory_editor_add(editor, numbered(text, number), some_file));
			if (number % 3 == 0)
				ck_assert_ok(directory_editor_remove(editor, numbered(text, number)));
		}
		ck_assert_ok(directory_editor_parent(editor, &ino));
		ck_assert_uint_eq(ino, MEMORY_PARENT_INO);
		ck_assert_ok(directory_editor_set_parent(editor, 77));
		ck_assert_ok(directory_editor_flush(editor, &state));
		directory.blocks = (uint32_t)(state.size_bytes >> directory.format.block_bits);
		directory_editor_close(editor);
		ck_assert_ok(memory_directory_open(&directory, &editor));
		ck_assert_ok(directory_editor_parent(editor, &ino));
		ck_assert_uint_eq(ino, 77);
		directory_editor_close(editor);
		if (first)
			ck_assert_mem_eq(first, directory.bytes, bytes);
		free(first);
		first = directory.bytes;
	}
	free(first);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("directory_editor_edges");
	TCase *tests = tcase_create("edges");

	initialize_ext2_error_table();
	tcase_set_timeout(tests, 600);
	tcase_add_test(tests, names_and_inodes_that_cannot_be);
	tcase_add_test(tests, directories_that_cannot_be);
	tcase_add_test(tests, errors_of_reading_last);
	tcase_add_test(tests, without_blocks_nothing_is_written);
	tcase_add_test(tests, a_large_linear_directory);
	tcase_add_test(tests, the_same_bytes_each_time);
	tcase_add_test(tests, damaged_blocks);
	tcase_add_test(tests, inline_data_sound_and_damaged);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
