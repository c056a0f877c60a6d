/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories in real filesystems, before three judges: libext2fs, e2fsck and the kernel. */
#include "ondisk/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ext2fs/ext2fs.h>

#include "directory_names.h"
#include "scratch.h"
#include "unit.h"

#define FILES 8 /* every entry is a link to one of these: 65000 links each */

static char scratch[SCRATCH_BYTES];
static char image_path[SCRATCH_BYTES + 8];
static char mount_path[SCRATCH_BYTES + 16];

/* Before and after the test's own process, so that a failure leaves nothing behind. */
static void make_scratch(void)
{
	scratch_make("directory", scratch);
	snprintf(image_path, sizeof(image_path), "%s/image", scratch);
	snprintf(mount_path, sizeof(mount_path), "%s/mounted", scratch);
	ck_assert_int_eq(mkdir(mount_path, 0700), 0);
}

static void remove_scratch(void)
{
	scratch_remove(scratch);
}

static void run_command(const char *pattern, const char *argument)
{
	char command[512];

	snprintf(command, sizeof(command), pattern, argument, image_path);
	ck_assert_msg(system(command) == 0, "failed: %s", command);
}

/* State that the image's directories share. */
struct filling {
	ext2_filsys fs;
	struct ondisk_format format;
	ext2_ino_t files[FILES]; /* consecutive */
	uint32_t links[FILES];
};

static void write_new_inode(ext2_filsys fs, ext2_ino_t ino, uint16_t mode, uint32_t generation)
{
	struct ext2_inode inode = { .i_mode = mode, .i_links_count = LINUX_S_ISDIR(mode) ? 2 : 1 };

	inode.i_generation = generation;
	if (ext2fs_has_feature_extents(fs->super)) {
		ext2_extent_handle_t handle;

		inode.i_flags = EXT4_EXTENTS_FL;
		ck_assert_int_eq(ext2fs_write_new_inode(fs, ino, &inode), 0);
		ck_assert_int_eq(ext2fs_extent_open2(fs, ino, &inode, &handle), 0);
		ext2fs_extent_free(handle);
	}
	ck_assert_int_eq(ext2fs_write_new_inode(fs, ino, &inode), 0);
	ext2fs_inode_alloc_stats2(fs, ino, 1, LINUX_S_ISDIR(mode));
}

static void open_filling(struct filling *filling, uint8_t hash_version, uint32_t hash_flag)
{
	ext2_filsys fs;

	ck_assert_int_eq(ext2fs_open(image_path, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs), 0);
	ck_assert_int_eq(ext2fs_read_bitmaps(fs), 0);
	fs->super->s_def_hash_version = hash_version;
	fs->super->s_flags &= ~(EXT2_FLAGS_SIGNED_HASH | EXT2_FLAGS_UNSIGNED_HASH);
	fs->super->s_flags |= hash_flag;
	ext2fs_mark_super_dirty(fs);
	*filling = (struct filling){ .fs = fs };
	ck_assert_int_eq(ondisk_format_read(fs->super, &filling->format), 0);
	for (int file = 0; file < FILES; file++) {
		ck_assert_int_eq(ext2fs_new_inode(fs, EXT2_ROOT_INO, LINUX_S_IFREG | 0644, NULL, &filling->files[file]),
		                 0);
		write_new_inode(fs, filling->files[file], LINUX_S_IFREG | 0644, 0);
		ck_assert_uint_eq(filling->files[file], filling->files[0] + file);
	}
}

/* Sets the files' link counts and closes the filesystem. */
static void close_filling(struct filling *filling)
{
	for (int file = 0; file < FILES; file++) {
		struct ext2_inode inode;

		ck_assert_int_eq(ext2fs_read_inode(filling->fs, filling->files[file], &inode), 0);
		inode.i_links_count = filling->links[file];
		ck_assert_uint_le(filling->links[file], 65000);
		ck_assert_uint_ge(filling->links[file], 1);
		ck_assert_int_eq(ext2fs_write_inode(filling->fs, filling->files[file], &inode), 0);
	}
	ck_assert_int_eq(ext2fs_close(filling->fs), 0);
}

static void link_into_root(ext2_filsys fs, const char *name, ext2_ino_t ino)
{
	struct ext2_inode root;
	errcode_t error = ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_DIR);

	ck_assert_int_eq(error, 0);
	ck_assert_int_eq(ext2fs_read_inode(fs, EXT2_ROOT_INO, &root), 0);
	root.i_links_count++;
	ck_assert_int_eq(ext2fs_write_inode(fs, EXT2_ROOT_INO, &root), 0);
}

static void write_blocks(ext2_filsys fs, ext2_ino_t ino, uint32_t blocks, const uint8_t *bytes)
{
	struct ext2_inode inode;

	ck_assert_int_eq(ext2fs_read_inode(fs, ino, &inode), 0);
	for (uint32_t block = 0; block < blocks; block++) {
		const uint8_t *from = bytes + (size_t)block * fs->blocksize;
		blk64_t physical = 0;

		ck_assert_int_eq(ext2fs_bmap2(fs, ino, &inode, NULL, BMAP_ALLOC, block, NULL, &physical), 0);
		ck_assert_int_eq(io_channel_write_blk64(fs->io, physical, 1, from), 0);
		ck_assert(ext2fs_dir_block_csum_verify(fs, ino, (struct ext2_dir_entry *)from));
	}
	ck_assert_int_eq(ext2fs_inode_size_set(fs, &inode, (uint64_t)blocks * fs->blocksize), 0);
	ck_assert_int_eq(ext2fs_write_inode(fs, ino, &inode), 0);
}

static void add_directory(struct filling *filling, const char *name, struct name_set *set, uint32_t minimum_blocks)
{
	const struct directory_source source = name_set_source(set);
	const uint32_t generation = 12345 + set->count;
	ext2_filsys fs = filling->fs;
	struct directory_layout *layout;
	struct ext2_inode inode;
	ext2_ino_t ino;
	uint32_t blocks;

	set->first_ino = filling->files[0];
	set->ino_count = FILES;
	for (uint32_t entry = 0; entry < set->count; entry++)
		filling->links[entry % FILES]++;
	ck_assert_int_eq(directory_layout(&filling->format, &source, minimum_blocks, NULL, &blocks, &layout), 0);
	uint8_t *bytes = malloc((size_t)blocks * fs->blocksize);
	ck_assert_ptr_nonnull(bytes);

	ck_assert_int_eq(ext2fs_new_inode(fs, EXT2_ROOT_INO, LINUX_S_IFDIR | 0755, NULL, &ino), 0);
	write_new_inode(fs, ino, LINUX_S_IFDIR | 0755, generation);
	if (layout) {
		ck_assert_int_eq(ext2fs_read_inode(fs, ino, &inode), 0);
		inode.i_flags |= EXT2_INDEX_FL;
		ck_assert_int_eq(ext2fs_write_inode(fs, ino, &inode), 0);
	}
	ck_assert_int_eq(
		directory_build(&filling->format, &source, layout, blocks, ino, EXT2_ROOT_INO, generation, bytes), 0);
	write_blocks(fs, ino, blocks, bytes);
	link_into_root(fs, name, ino);
	directory_layout_free(layout);
	free(bytes);
}

/* The number of names that the kernel does not find, or finds without their being there. */
static uint32_t count_wrong_lookups(DIR *directory, const struct name_set *set)
{
	uint32_t wrong = 0;

	for (uint32_t entry = 0; entry < set->count; entry++) {
		const uint8_t length = set->names[entry].length_bytes;
		struct stat status;
		char text[256] = "";

		memcpy(text, set->names[entry].name, length);
		if (fstatat(dirfd(directory), text, &status, AT_SYMLINK_NOFOLLOW) ||
		    status.st_ino != set->first_ino + entry % FILES)
			wrong++;
		if (entry % 16)
			continue;
		text[3] = '.'; /* in none of the names */
		if (fstatat(dirfd(directory), text, &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
			wrong++;
	}
	return wrong;
}

/* No assertions in loops here: each one is a write to Check's pipe. */
static void look_up_in_kernel(const char *name, const struct name_set *set)
{
	char path[512];
	uint32_t count = 0;

	snprintf(path, sizeof(path), "%s/%s", mount_path, name);
	DIR *directory = opendir(path);
	ck_assert_msg(directory, "%s: %s", path, strerror(errno));
	const uint32_t wrong = count_wrong_lookups(directory, set);
	ck_assert_msg(wrong == 0, "%s: %u of %u names", path, wrong, set->count);
	errno = 0;
	while (readdir(directory))
		count++;
	ck_assert_int_eq(errno, 0);
	ck_assert_uint_eq(count, set->count + 2);
	closedir(directory);
}

/* In a mount namespace of this process's own, so that the mount ends with it. False: not mounted, and it says why. */
static bool mount_image(const char *mke2fs_options)
{
	char command[512];

	if (geteuid() != 0) {
		skip_part("needs root");
		return false;
	}
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		skip_part("needs a mount namespace");
		return false;
	}
	snprintf(command, sizeof(command), "mount -t ext4 -o loop,ro %s %s >/dev/null 2>&1", image_path, mount_path);
	if (system(command)) {
		snprintf(command, sizeof(command), "needs a kernel that mounts %s", mke2fs_options);
		skip_part(command);
		return false;
	}
	return true;
}

struct wanted_directory {
	const char *name;
	uint32_t count, shortest, longest, minimum_blocks;
	int colliding; /* 1 + enum colliding_names */
};

static const struct wanted_directory usual[] = {
	{ "empty", 0, 4, 4, 0, 0 },
	{ "surplus", 0, 4, 4, 16, 0 },
	{ "one", 1, 255, 255, 0, 0 },
	{ "few", 9, 4, 60, 0, 0 },
	{ "surplus-used", 100, 4, 20, 8, 0 },
	{ "many", 1000, 4, 60, 0, 0 },
	{ "long", 400, 255, 255, 0, 0 },
	{ "any", 3000, 4, 255, 0, 0 },
	{ "middle", 40, 255, 255, 0, 1 + COLLIDING_IN_THE_MIDDLE },
	{ "end", 7, 255, 255, 0, 1 + COLLIDING_AT_THE_END },
	{ "end-of-node", 3 * 126 - 4, 255, 255, 0, 1 + COLLIDING_AT_THE_END },
};

static const struct wanted_image {
	const char *options; /* of mke2fs */
	uint8_t hash_version;
	uint32_t hash_flag;
	bool not_for_e2fsck;
	struct wanted_directory large; /* besides the usual ones */
} images[] = {
	{ "-t ext4 -b 4096", EXT2_HASH_HALF_MD4, EXT2_FLAGS_SIGNED_HASH, false, { "50000", 50000, 4, 40, 0, 0 } },
	{ "-t ext4 -b 1024",
	  EXT2_HASH_LEGACY,
	  EXT2_FLAGS_UNSIGNED_HASH,
	  false,
	  { "one-level", 12000, 200, 255, 0, 0 } },
	{ "-t ext4 -b 1024 -O large_dir",
	  EXT2_HASH_HALF_MD4,
	  EXT2_FLAGS_UNSIGNED_HASH,
	  false,
	  { "two-levels", 3 * 15498 + 500, 255, 255, 0, 0 } },
	{ "-t ext4 -b 1024 -O ^metadata_csum",
	  EXT2_HASH_LEGACY,
	  EXT2_FLAGS_SIGNED_HASH,
	  false,
	  { "20000", 20000, 4, 40, 0, 0 } },
	{ "-t ext4 -b 2048 -O ^64bit", EXT2_HASH_TEA, EXT2_FLAGS_SIGNED_HASH, false, { "20000", 20000, 4, 40, 0, 0 } },
	{ "-t ext3 -b 4096 -O ^filetype",
	  EXT2_HASH_TEA,
	  EXT2_FLAGS_UNSIGNED_HASH,
	  false,
	  { "20000", 20000, 4, 40, 0, 0 } },
	{ "-t ext4 -b 4096 -O ^dir_index",
	  EXT2_HASH_HALF_MD4,
	  EXT2_FLAGS_SIGNED_HASH,
	  false,
	  { "exact", 2, 4, 4, 0, 0 } },
	{ "-t ext2 -b 1024 -O ^dir_index,^filetype", EXT2_HASH_HALF_MD4, 0, false, { "short", 2000, 4, 4, 0, 0 } },
	{ "-t ext4 -b 65536", EXT2_HASH_HALF_MD4, EXT2_FLAGS_SIGNED_HASH, false, { "20000", 20000, 4, 255, 0, 0 } },
	{ "-t ext4 -b 65536 -O ^metadata_csum",
	  EXT2_HASH_LEGACY,
	  EXT2_FLAGS_SIGNED_HASH,
	  false,
	  { "20000", 20000, 4, 40, 0, 0 } },
	/* e2fsck 1.47 does not fold 0xfffffffe as the kernel does, and finds leaves out of order. */
	{ "-t ext4 -b 1024",
	  EXT2_HASH_LEGACY,
	  EXT2_FLAGS_SIGNED_HASH,
	  true,
	  { "folded", 3 * 126 - 4, 255, 255, 0, 1 + COLLIDING_FOLDED } },
};

#define USUAL (sizeof(usual) / sizeof(*usual))

/* Makes the image of its directories, and the sets of their names. */
static void make_image(const struct wanted_image *image, struct random *random, struct name_set sets[USUAL + 1])
{
	struct filling filling;

	run_command("mke2fs -q -F -N 64 -E lazy_itable_init=1,nodiscard %s %s 256M >/dev/null 2>&1", image->options);
	open_filling(&filling, image->hash_version, image->hash_flag);
	for (size_t i = 0; i <= USUAL; i++) {
		const struct wanted_directory *wanted = i < USUAL ? &usual[i] : &image->large;

		sets[i] = name_set_start();
		name_set_add_random(&sets[i], random, wanted->count, wanted->shortest, wanted->longest);
		if (wanted->colliding)
			name_set_add_colliding(&sets[i], wanted->colliding - 1);
		add_directory(&filling, wanted->name, &sets[i], wanted->minimum_blocks);
	}
	close_filling(&filling);
}

START_TEST(judges_accept_the_image)
{
	const struct wanted_image *image = &images[_i];
	struct random random = random_start(image->options);
	struct name_set sets[USUAL + 1];

	make_image(image, &random, sets);
	if (!image->not_for_e2fsck)
		run_command("e2fsck -fn %s %s >/dev/null 2>&1", "");
	if (mount_image(image->options))
		for (size_t i = 0; i <= USUAL; i++)
			look_up_in_kernel(i < USUAL ? usual[i].name : image->large.name, &sets[i]);
	for (size_t i = 0; i <= USUAL; i++)
		name_set_free(&sets[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("directory_image");
	TCase *all = tcase_create("all");

	initialize_ext2_error_table();
	tcase_set_timeout(all, 300);
	tcase_add_unchecked_fixture(all, make_scratch, remove_scratch);
	tcase_add_loop_test(all, judges_accept_the_image, 0, sizeof(images) / sizeof(*images));
	suite_add_tcase(suite, all);
	return run_suite(suite);
}
