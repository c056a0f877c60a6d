/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names are added, replaced and removed at random in directories of real filesystems, and in a list. libext2fs reads
 * what is in the directory, e2fsck judges it after each batch, and the kernel looks every name up.
 */
#include "update/directory/directory_editor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edited_directory.h"
#include "ext2fs/ext2mb.h"
#include "mb_image.h"
#include "unit.h"

#define NO_KERNEL 1u  /* the kernel may not mount it */
#define FOLDED 2u     /* the directory is casefolded */
#define SCATTERED 4u  /* its blocks lie anywhere */
#define SHORT 8u      /* short names, so that inline data has several */
#define COLLIDING 16u /* many names have one hash */

static const struct wanted_directory {
	const char *options; /* of mke2fs */
	uint8_t hash_version;
	uint32_t hash_flag;
	uint32_t names; /* that there are in all, of which about half is in the directory */
	unsigned int properties;
} wanted[] = {
	{ "-b 4096", EXT2_HASH_HALF_MD4, EXT2_FLAGS_UNSIGNED_HASH, 6000, SCATTERED },
	{ "-b 4096", EXT2_HASH_HALF_MD4, EXT2_FLAGS_SIGNED_HASH, 40, 0 },
	{ "-b 1024", EXT2_HASH_LEGACY, EXT2_FLAGS_UNSIGNED_HASH, 2500, SCATTERED },
	{ "-b 1024 -O large_dir", EXT2_HASH_TEA, EXT2_FLAGS_UNSIGNED_HASH, 2500, 0 },
	{ "-b 1024 -O ^metadata_csum", EXT2_HASH_LEGACY, EXT2_FLAGS_SIGNED_HASH, 2500, 0 },
	{ "-b 2048 -O ^64bit", EXT2_HASH_TEA, EXT2_FLAGS_SIGNED_HASH, 2500, 0 },
	{ "-b 1024", EXT2_HASH_LEGACY, EXT2_FLAGS_SIGNED_HASH, 60, COLLIDING },
	{ "-b 4096 -O ^filetype,^extent,^64bit", EXT2_HASH_HALF_MD4, EXT2_FLAGS_SIGNED_HASH, 3000, 0 },
	{ "-b 1024 -O ^dir_index", EXT2_HASH_HALF_MD4, EXT2_FLAGS_SIGNED_HASH, 400, SCATTERED },
	{ "-b 1024 -O ^dir_index,^filetype,^metadata_csum", EXT2_HASH_HALF_MD4, 0, 400, SHORT },
	{ "-b 65536", EXT2_HASH_HALF_MD4, EXT2_FLAGS_SIGNED_HASH, 4000, NO_KERNEL },
	{ "-b 65536 -O ^metadata_csum", EXT2_HASH_TEA, EXT2_FLAGS_SIGNED_HASH, 4000, NO_KERNEL },
	{ "-b 1024 -O bigalloc -C 8192", EXT2_HASH_HALF_MD4, EXT2_FLAGS_SIGNED_HASH, 1000, SCATTERED },
	{ "-b 1024 -I 256 -O inline_data", EXT2_HASH_HALF_MD4, EXT2_FLAGS_SIGNED_HASH, 300, SHORT },
	{ "-b 4096 -I 1024 -O inline_data,^metadata_csum", EXT2_HASH_TEA, EXT2_FLAGS_SIGNED_HASH, 600, 0 },
	{ "-b 1024 -O casefold -E encoding=utf8", EXT2_HASH_HALF_MD4, EXT2_FLAGS_SIGNED_HASH, 2500, FOLDED },
	{ "-b 1024 -I 512 -O casefold,inline_data -E encoding=utf8", EXT2_HASH_TEA, EXT2_FLAGS_SIGNED_HASH, 200,
	  FOLDED | SHORT },
	{ "-b 1024 -O casefold,^dir_index -E encoding=utf8", EXT2_HASH_TEA, 0, 200, FOLDED },
};

/* A name, in the spelling in which it is or would be stored. */
struct model_name {
	char bytes[256];
	uint8_t length;
	uint8_t units[60]; /* of a folded name: what it consists of, whatever the spelling */
	uint8_t unit_count;
	bool is_there;
	uint32_t ino;
};

struct model {
	struct edited_directory directory;
	const struct wanted_directory *wanted;
	struct random random;
	struct model_name *names;
	uint32_t count;
};

/* Spellings of one unit each, which are equal in casefolded directories. */
static const char *const spellings[][2] = {
	{ "a", "A" },
	{ "k", "K" },
	{ "z", "Z" },
	{ "7", "7" },
	{ "\303\251", "\303\211" },
	{ "\303\237", "sS" },
	{ "e\314\210", "\303\213" },
	{ "-", "-" },
};

#define UNITS (sizeof(spellings) / sizeof(*spellings))

static void spell(struct model *model, const struct model_name *name, char bytes[256], uint8_t *length)
{
	*length = 0;
	for (unsigned int unit = 0; unit < name->unit_count; unit++) {
		const char *spelling = spellings[name->units[unit]][random_below(&model->random, 2)];

		memcpy(bytes + *length, spelling, strlen(spelling));
		*length += strlen(spelling);
	}
}

/* The number is in the name, so that all are different. */
static void make_folded_name(struct model *model, uint32_t number)
{
	struct model_name *name = &model->names[number];
	unsigned int most = model->wanted->properties & SHORT ? 12 : 60;

	name->unit_count = (uint8_t)(7 + random_below(&model->random, most - 6));
	for (unsigned int unit = 0; unit < name->unit_count; unit++, number /= UNITS)
		name->units[unit] = unit < 6 ? number % UNITS : random_below(&model->random, UNITS);
	name->units[6] = 0;
	spell(model, name, name->bytes, &name->length);
}

static void make_names(struct model *model)
{
	struct name_set set = name_set_start();
	bool is_short = model->wanted->properties & SHORT;

	model->count = model->wanted->names;
	model->names = calloc(model->count, sizeof(*model->names));
	if (model->wanted->properties & COLLIDING) {
		name_set_add_colliding(&set, COLLIDING_IN_THE_MIDDLE);
		name_set_add_colliding(&set, COLLIDING_AT_THE_END);
	}
	if (!(model->wanted->properties & FOLDED))
		name_set_add_random(&set, &model->random, model->count - set.count, 4, is_short ? 16 : 255);
	for (uint32_t i = 0; i < model->count; i++) {
		if (model->wanted->properties & FOLDED) {
			make_folded_name(model, i);
			continue;
		}
		model->names[i].length = set.names[i].length_bytes;
		memcpy(model->names[i].bytes, set.names[i].name, set.names[i].length_bytes);
	}
	name_set_free(&set);
}

static void make_model(struct model *model, const struct wanted_directory *directory)
{
	*model = (struct model){ .wanted = directory, .random = random_start(directory->options) };
	make_names(model);
	edited_directory_make(&model->directory, directory->options, "64M", directory->hash_version,
	                      directory->hash_flag, &model->random);
	model->directory.is_scattered = directory->properties & SCATTERED;
	if (directory->properties & FOLDED) {
		ext2_filsys fs = model->directory.image.fs;
		struct ext2_inode inode;

		ck_assert_ok(ext2fs_read_inode(fs, model->directory.ino, &inode));
		inode.i_flags |= EXT4_CASEFOLD_FL;
		ck_assert_ok(ext2fs_write_inode(fs, model->directory.ino, &inode));
	}
}

/* The name as somebody might ask for it. */
static struct directory_name asked(struct model *model, const struct model_name *name, char bytes[256])
{
	struct directory_name asked_for = { bytes, name->length };

	if (name->unit_count)
		spell(model, name, bytes, &asked_for.length_bytes);
	else
		memcpy(bytes, name->bytes, name->length);
	return asked_for;
}

static void expect_name(struct model *model, const struct model_name *name)
{
	struct directory_entry entry;
	char bytes[256];
	errcode_t error = directory_editor_find(model->directory.editor, asked(model, name, bytes), &entry);

	if (!name->is_there) {
		ck_assert_error(error, ENOENT);
		return;
	}
	ck_assert_ok(error);
	ck_assert_msg(entry.ino == name->ino && entry.name_bytes == name->length &&
	                      !memcmp(entry.name, name->bytes, name->length),
	              "another name, or another inode");
}

/* How likely it is that a name is there in the end. */
static void change_one(struct model *model, unsigned int percent)
{
	struct model_name *name = &model->names[random_below(&model->random, model->count)];
	struct directory_editor *editor = model->directory.editor;
	struct directory_target target = { model->directory.files[random_below(&model->random, EDITED_FILES)],
		                           EXT2_FT_REG_FILE };
	char bytes[256];
	struct directory_name asked_for = asked(model, name, bytes);

	if (random_below(&model->random, 8) == 0) {
		ck_assert_error(directory_editor_replace(editor, asked_for, target), name->is_there ? 0 : ENOENT);
		name->ino = target.ino;
	} else if (random_below(&model->random, 100) < percent) {
		ck_assert_error(directory_editor_add(editor, asked_for, target), name->is_there ? EEXIST : 0);
		if (name->is_there)
			return;
		memcpy(name->bytes, bytes, sizeof(bytes));
		name->length = asked_for.length_bytes;
		name->ino = target.ino;
		name->is_there = true;
	} else {
		ck_assert_error(directory_editor_remove(editor, asked_for), name->is_there ? 0 : ENOENT);
		name->is_there = false;
	}
}

struct seen {
	struct model *model;
	const struct model_name **sorted;
	uint32_t there, found, wrong;
};

static int compare_names(const void *left, const void *right)
{
	const struct model_name *a = *(const struct model_name *const *)left,
				*b = *(const struct model_name *const *)right;

	return a->length != b->length ? a->length - b->length : memcmp(a->bytes, b->bytes, a->length);
}

static int see(struct ext2_dir_entry *entry, int offset, int blocksize, char *buffer, void *context)
{
	struct seen *seen = context;
	struct model_name wanted_name = { .length = (uint8_t)ext2fs_dirent_name_len(entry) };
	const struct model_name *key = &wanted_name, **found;

	(void)offset;
	(void)blocksize;
	(void)buffer;
	memcpy(wanted_name.bytes, entry->name, wanted_name.length);
	if (entry->name[0] == '.' && wanted_name.length <= 2)
		return 0;
	found = bsearch(&key, seen->sorted, seen->there, sizeof(*seen->sorted), compare_names);
	seen->found++;
	seen->wrong += !found || (*found)->ino != entry->inode;
	return 0;
}

/* What libext2fs reads is what the list has. */
static void expect_listing(struct model *model)
{
	struct seen seen = { .model = model, .sorted = malloc(model->count * sizeof(*seen.sorted)) };

	for (uint32_t i = 0; i < model->count; i++)
		if (model->names[i].is_there)
			seen.sorted[seen.there++] = &model->names[i];
	qsort(seen.sorted, seen.there, sizeof(*seen.sorted), compare_names);
	ck_assert_ok(ext2fs_dir_iterate(model->directory.image.fs, model->directory.ino, 0, NULL, see, &seen));
	ck_assert_msg(seen.found == seen.there && !seen.wrong, "%u of %u names, %u are wrong", seen.found, seen.there,
	              seen.wrong);
	free(seen.sorted);
}

static void look_up_in_kernel(struct model *model, const char *mounted)
{
	uint32_t wrong = 0, found = 0, there = 0;
	char path[200];

	snprintf(path, sizeof(path), "%s/dir", mounted);
	DIR *directory = opendir(path);

	ck_assert_msg(directory, "%s: %s", path, strerror(errno));
	for (uint32_t i = 0; i < model->count; i++) {
		struct model_name *name = &model->names[i];
		struct stat status;
		char bytes[256];

		bytes[asked(model, name, bytes).length_bytes] = '\0';
		int error = fstatat(dirfd(directory), bytes, &status, AT_SYMLINK_NOFOLLOW);

		there += name->is_there;
		wrong += name->is_there ? error || status.st_ino != name->ino : !error || errno != ENOENT;
	}
	while (readdir(directory))
		found++;
	closedir(directory);
	ck_assert_msg(!wrong && found == there + 2, "%u of %u names, %u lookups are wrong", found, there + 2, wrong);
}

static void ask_kernel(struct model *model)
{
	if (model->wanted->properties & NO_KERNEL)
		return;
	const char *mounted = ondisk_image_mount();

	if (!mounted) {
		char reason[200];

		snprintf(reason, sizeof(reason), "needs a kernel that mounts %s", model->wanted->options);
		skip_part(reason);
		return;
	}
	look_up_in_kernel(model, mounted);
	ondisk_image_unmount();
}

static void change_batch(struct model *model, unsigned int percent)
{
	edited_directory_open_editor(&model->directory);
	/* Several flushes of one editor. */
	for (unsigned int part = 0; part < 3; part++) {
		for (uint32_t i = 0; i < model->count / 2; i++)
			change_one(model, percent);
		edited_directory_flush(&model->directory);
		ck_assert_uint_eq(directory_editor_cost(model->directory.editor).written_blocks, 0);
	}
	for (uint32_t i = 0; i < model->count; i++)
		expect_name(model, &model->names[i]);
	edited_directory_close_editor(&model->directory);
	expect_listing(model);
	edited_directory_check(&model->directory);
}

START_TEST(equal_to_a_list)
{
	const unsigned int percents[] = { 90, 20, 60, 2, 95 };
	struct model model;

	make_model(&model, &wanted[_i]);
	for (unsigned int round = 0; round < (is_soak() ? 10u : 1u); round++) {
		for (size_t batch = 0; batch < sizeof(percents) / sizeof(*percents); batch++) {
			change_batch(&model, percents[batch]);
			edited_directory_reopen(&model.directory, unix_io_manager);
		}
	}
	ondisk_image_close(&model.directory.image);
	ask_kernel(&model);
	free(model.names);
}
END_TEST

/* The kernel adds and removes, in an image that is closed; false: it cannot mount it. */
static bool change_by_kernel(struct model *model, unsigned int percent)
{
	const char *mounted = ondisk_image_mount_writable();

	if (!mounted)
		return false;
	int root = open(mounted, O_PATH | O_DIRECTORY), directory = openat(root, "dir", O_PATH | O_DIRECTORY);

	for (uint32_t i = 0; i < model->count; i++) {
		struct model_name *name = &model->names[random_below(&model->random, model->count)];
		uint32_t file = (uint32_t)random_below(&model->random, EDITED_FILES);
		bool is_wanted = random_below(&model->random, 100) < percent;
		char from[16], bytes[257] = "";

		if (is_wanted == name->is_there)
			continue;
		memcpy(bytes, name->bytes, name->length);
		snprintf(from, sizeof(from), "file%u", file);
		ck_assert_int_eq(is_wanted ? linkat(root, from, directory, bytes, 0) : unlinkat(directory, bytes, 0),
		                 0);
		name->is_there = is_wanted;
		name->ino = model->directory.files[file];
	}
	close(directory);
	close(root);
	ondisk_image_unmount();
	return true;
}

/* Those of the table that are as the kernel usually has them. */
static const unsigned int by_kernel[] = { 0, 2, 4, 7, 13 };

START_TEST(in_turn_with_the_kernel)
{
	struct model model;
	bool is_mounted = true;

	make_model(&model, &wanted[by_kernel[_i]]);
	edited_directory_check(&model.directory);
	for (unsigned int round = 0; is_mounted && round < (is_soak() ? 20u : 2u); round++) {
		is_mounted = change_by_kernel(&model, round ? 30 : 90);
		edited_directory_reopen(&model.directory, unix_io_manager);
		expect_listing(&model);
		change_batch(&model, round ? 90 : 60);
	}
	if (is_mounted)
		is_mounted = change_by_kernel(&model, 60);
	edited_directory_reopen(&model.directory, unix_io_manager);
	expect_listing(&model);
	edited_directory_check(&model.directory);
	if (!is_mounted)
		skip_part("needs a kernel that mounts ext4, and root");
	free(model.names);
}
END_TEST

/* A name of 255 bytes that no other one begins like. */
static struct directory_name long_name(char bytes[256], uint32_t number)
{
	int written = snprintf(bytes, 256, "..%u..", number);

	memset(bytes + written, 'x', (size_t)(255 - written));
	return (struct directory_name){ bytes, 255 };
}

/* Directories as e2populate makes them, full to the last byte, and so large that the index is full, too. */
static const struct full_directory {
	const char *options;
	uint32_t names, shortest, longest;
	bool is_end; /* the index can have no other name */
} full[] = {
	{ "-b 4096", 100000, 4, 40, false },
	{ "-b 1024", 3 * 123 * 126, 255, 255, true },
	{ "-b 1024 -O large_dir", 3 * 123 * 126, 255, 255, false },
};

static void open_in_transaction(struct edited_directory *directory)
{
	edited_directory_reopen(directory, ext2mb_transaction_io_manager(0));
	ck_assert_ok(ext2mb_transaction_begin(directory->image.fs));
	edited_directory_open_editor(directory);
}

/* Returns how many blocks were logged. */
static uint64_t commit(struct edited_directory *directory)
{
	struct ext2mb_transaction_info info = { .struct_bytes = sizeof(info) };
	ext2_filsys fs = directory->image.fs;

	edited_directory_close_editor(directory);
	ck_assert_ok(ext2mb_transaction_end(fs));
	ck_assert_ok(ext2mb_transaction_commit(fs));
	ck_assert_ok(ext2mb_transaction_read_info(fs, &info));
	printf("# %u blocks were free before; %u are logged\n", (unsigned int)info.direct_blocks,
	       (unsigned int)info.logged_blocks);
	return info.logged_blocks;
}

static void add_one(struct edited_directory *directory, bool is_end)
{
	struct directory_editor *editor = directory->editor;
	struct directory_target target = { directory->files[0], EXT2_FT_REG_FILE };
	char bytes[256];
	struct directory_name name = long_name(bytes, 1);

	ck_assert_error(directory_editor_add(editor, name, target), is_end ? EFBIG : 0);
	struct directory_editor_cost cost = directory_editor_cost(editor);

	if (is_end)
		ck_assert(!cost.written_blocks && !cost.new_blocks);
	directory->written_blocks = 0;
	edited_directory_flush(directory);
	ck_assert_uint_eq(directory->written_blocks, cost.written_blocks);
	printf("# of the directory %u blocks are written, %u are new\n", cost.written_blocks, cost.new_blocks);
}

START_TEST(one_name_of_many_writes_few_blocks)
{
	const struct full_directory *large = &full[_i];
	struct random random = random_start(large->options);
	struct name_set set = name_set_start();
	struct edited_directory directory;
	char bytes[256];

	name_set_add_random(&set, &random, large->names, large->shortest, large->longest);
	edited_directory_make(&directory, large->options, "64M", EXT2_HASH_HALF_MD4, EXT2_FLAGS_SIGNED_HASH, &random);
	edited_directory_fill(&directory, &set);
	edited_directory_check(&directory);
	open_in_transaction(&directory);
	add_one(&directory, large->is_end);
	ck_assert_uint_le(commit(&directory), 8);
	edited_directory_check(&directory);
	/* A name less makes room for another one in its leaf. */
	open_in_transaction(&directory);
	ck_assert_ok(directory_editor_remove(directory.editor, set.names[5]));
	ck_assert_ok(directory_editor_add(directory.editor, set.names[5],
	                                  (struct directory_target){ directory.files[1], EXT2_FT_REG_FILE }));
	ck_assert_uint_eq(directory_editor_cost(directory.editor).written_blocks, 1);
	edited_directory_flush(&directory);
	for (uint32_t number = 2; !large->is_end && number < 500; number++)
		ck_assert_ok(directory_editor_add(directory.editor, long_name(bytes, number),
		                                  (struct directory_target){ directory.files[1], EXT2_FT_REG_FILE }));
	edited_directory_flush(&directory);
	commit(&directory);
	edited_directory_check(&directory);
	name_set_free(&set);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("directory_editor");
	TCase *tests = tcase_create("editor");

	tcase_add_unchecked_fixture(tests, ondisk_image_setup, ondisk_image_teardown);
	tcase_set_timeout(tests, 600);
	tcase_add_loop_test(tests, equal_to_a_list, 0, sizeof(wanted) / sizeof(*wanted));
	tcase_add_loop_test(tests, in_turn_with_the_kernel, 0, sizeof(by_kernel) / sizeof(*by_kernel));
	tcase_add_loop_test(tests, one_name_of_many_writes_few_blocks, 0, sizeof(full) / sizeof(*full));
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
