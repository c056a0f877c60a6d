/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Orphans in an image, through libext2mb:
 *
 *	orphans leave IMAGE DELETED TRUNCATED	makes so many without links, and so many longer than their size, and
 *						leaves them as a machine that died would
 *	orphans list IMAGE			counts them
 *	orphans release IMAGE			releases them; release-attached: through an allocator that is open
 *	orphans tails IMAGE			the truncated ones have nothing behind their size
 *	orphans hold DIRECTORY COUNT COMMAND	runs the command while COUNT files of the directory are open but
 * unlinked
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "ext2fs/ext2mb.h"
#include "support/cleanup.h"

#define CONTENT 0xaa
#define SHARERS 60 /* few names, lest e2fsck index the root directory and the free blocks differ */
#define WORKERS 7  /* as if so many threads had added them */

static const char *image;

static void check(errcode_t error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "orphans: %s: %s: %s\n", image, what, error_message(error));
	exit(1);
}

static ext2_filsys open_image(void)
{
	ext2_filsys fs;

	check(ext2fs_open(image, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs), "cannot be opened");
	return fs;
}

static struct ext2mb_orphans *open_orphans(ext2_filsys fs, struct ext2mb *mb)
{
	struct ext2mb_orphan_options options = { sizeof(options), mb };
	struct ext2mb_orphans *orphans;
	char why[128];

	errcode_t error = ext2mb_orphan_open(fs, &options, why, sizeof(why), &orphans);
	check(error, *why ? why : "orphans");
	return orphans;
}

/* --- leave -------------------------------------------------------------------------------------------------- */

/* Every `stride`th block of `blocks`: a stride of 2 makes an extent of each, more than an inode has room for. */
static void write_blocks(ext2_filsys fs, ext2_ino_t ino, uint64_t blocks, uint64_t stride)
{
	SCOPE_FREE uint8_t *bytes = malloc(fs->blocksize);
	ext2_file_t file;
	unsigned int written;

	memset(bytes, CONTENT, fs->blocksize);
	check(ext2fs_file_open(fs, ino, EXT2_FILE_WRITE, &file), "file");
	for (uint64_t block = 0; block < blocks; block += stride) {
		check(ext2fs_file_llseek(file, block * fs->blocksize, EXT2_SEEK_SET, NULL), "seek");
		check(ext2fs_file_write(file, bytes, fs->blocksize, &written), "write");
	}
	check(ext2fs_file_close(file), "close");
}

static ext2_ino_t new_inode(ext2_filsys fs, uint16_t mode, uint16_t links)
{
	struct ext2_inode inode = { .i_mode = mode, .i_links_count = links };
	ext2_extent_handle_t handle;
	ext2_ino_t ino;

	check(ext2fs_new_inode(fs, EXT2_ROOT_INO, mode, NULL, &ino), "new inode");
	ext2fs_inode_alloc_stats2(fs, ino, 1, LINUX_S_ISDIR(mode));
	if (ext2fs_has_feature_extents(fs->super) && !LINUX_S_ISLNK(mode))
		inode.i_flags = EXT4_EXTENTS_FL;
	check(ext2fs_write_new_inode(fs, ino, &inode), "inode");
	if (inode.i_flags) {
		check(ext2fs_extent_open2(fs, ino, &inode, &handle), "extents");
		ext2fs_extent_free(handle);
		check(ext2fs_write_inode(fs, ino, &inode), "inode");
	}
	return ino;
}

static void set_size(ext2_filsys fs, ext2_ino_t ino, uint64_t bytes)
{
	struct ext2_inode inode;

	check(ext2fs_read_inode(fs, ino, &inode), "inode");
	check(ext2fs_inode_size_set(fs, &inode, bytes), "size");
	check(ext2fs_write_inode(fs, ino, &inode), "inode");
}

static void enter_name(ext2_filsys fs, const char *kind, unsigned int number, ext2_ino_t ino)
{
	char name[32];

	snprintf(name, sizeof(name), "%s-%u", kind, number);
	errcode_t error = ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE);
	if (error == EXT2_ET_DIR_NO_SPACE) {
		check(ext2fs_expand_dir(fs, EXT2_ROOT_INO), "directory");
		error = ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE);
	}
	check(error, name);
}

/* An xattr that does not fit the inode, in a block that another inode shares. */
static void share_xattr_block(ext2_filsys fs, ext2_ino_t ino)
{
	struct ext2_xattr_handle *handle;
	struct ext2_inode inode, other;
	char value[400] = "value";
	uint32_t references;
	ext2_ino_t sharer;

	check(ext2fs_xattrs_open(fs, ino, &handle), "xattrs");
	check(ext2fs_xattr_set(handle, "user.key", value, sizeof(value)), "xattr");
	check(ext2fs_xattrs_close(&handle), "xattrs");
	check(ext2fs_read_inode(fs, ino, &inode), "inode");
	if (!ext2fs_file_acl_block(fs, &inode))
		return;
	sharer = new_inode(fs, LINUX_S_IFREG | 0644, 1);
	check(ext2fs_read_inode(fs, sharer, &other), "inode");
	ext2fs_file_acl_block_set(fs, &other, ext2fs_file_acl_block(fs, &inode));
	check(ext2fs_iblk_add_blocks(fs, &other, 1), "blocks");
	check(ext2fs_write_inode(fs, sharer, &other), "inode");
	check(ext2fs_adjust_ea_refcount3(fs, ext2fs_file_acl_block(fs, &inode), NULL, 1, &references, sharer),
	      "xattrs");
	enter_name(fs, "sharer", sharer, sharer);
}

static ext2_ino_t make_deleted(ext2_filsys fs, unsigned int number)
{
	ext2_ino_t ino;

	switch (number % 6) {
	case 0:
		return new_inode(fs, LINUX_S_IFREG | 0644, 0);
	case 1:
		ino = new_inode(fs, LINUX_S_IFREG | 0644, 0);
		write_blocks(fs, ino, 30 + number, 1);
		return ino;
	case 2: /* a fast symlink: its target is where others have blocks */
		ino = new_inode(fs, LINUX_S_IFLNK | 0777, 0);
		set_size(fs, ino, 3);
		return ino;
	case 3:
		ino = new_inode(fs, LINUX_S_IFDIR | 0755, 0);
		write_blocks(fs, ino, 1, 1);
		return ino;
	case 4:
		ino = new_inode(fs, LINUX_S_IFREG | 0644, 0);
		if (number < SHARERS)
			share_xattr_block(fs, ino);
		return ino;
	default:
		ino = new_inode(fs, LINUX_S_IFREG | 0644, 0);
		write_blocks(fs, ino, 40 + number, 2);
		return ino;
	}
}

static ext2_ino_t make_truncated(ext2_filsys fs, unsigned int number)
{
	ext2_ino_t ino = new_inode(fs, LINUX_S_IFREG | 0644, 1);

	write_blocks(fs, ino, 40, 1 + number % 2);
	set_size(fs, ino, (uint64_t)(number % 5) * fs->blocksize + 7 * number);
	enter_name(fs, "truncated", number, ino);
	return ino;
}

static int leave(unsigned int deleted, unsigned int truncated)
{
	ext2_filsys fs = open_image();
	struct ext2mb_orphans *orphans = open_orphans(fs, NULL);
	uint32_t index;

	check(ext2fs_read_bitmaps(fs), "bitmaps");
	for (unsigned int number = 0; number < deleted; number++)
		check(ext2mb_orphan_add(orphans, number % WORKERS, make_deleted(fs, number), &index), "add");
	for (unsigned int number = 0; number < truncated; number++)
		check(ext2mb_orphan_add(orphans, number % WORKERS, make_truncated(fs, number), &index), "add");
	check(ext2mb_orphan_sync(orphans), "sync");
	ext2mb_orphan_close(orphans);
	check(ext2fs_close(fs), "close");
	return 0;
}

/* --- look and release --------------------------------------------------------------------------------------- */

static int list(void)
{
	ext2_filsys fs = open_image();
	struct ext2mb_orphans *orphans = open_orphans(fs, NULL);
	unsigned int in_file = 0, on_list = 0;

	for (uint32_t index = 0; ext2mb_orphan_next(orphans, &index); index++)
		*(index < EXT2MB_ORPHAN_ON_LIST ? &in_file : &on_list) += 1;
	printf("%u in the file, %u on the list%s\n", in_file, on_list,
	       ext2fs_has_feature_orphan_present(fs->super) ? ", present" : "");
	ext2mb_orphan_close(orphans);
	check(ext2fs_close(fs), "close");
	return 0;
}

static int release(bool is_attached)
{
	struct ext2mb_orphan_released counts = { .struct_bytes = sizeof(counts) };
	struct ext2mb_orphans *orphans;
	struct ext2mb *mb = NULL;
	char why[128];
	ext2_filsys fs = open_image();

	if (is_attached)
		check(ext2mb_open(fs, NULL, &mb), "allocator");
	orphans = open_orphans(fs, mb);
	errcode_t error = ext2mb_orphan_release(orphans, &counts, why, sizeof(why));
	check(error, *why ? why : "release");
	check(ext2mb_orphan_sync(orphans), "sync");
	if (is_attached) {
		check(ext2mb_sync(mb), "sync");
		check(ext2mb_check(mb, why, sizeof(why)), why);
	}
	printf("released %llu, truncated %llu\n", (unsigned long long)counts.deleted,
	       (unsigned long long)counts.truncated);
	ext2mb_orphan_close(orphans);
	ext2mb_close(mb);
	check(ext2fs_close(fs), "close");
	return 0;
}

/* Whether a truncated file has its content up to its size and zeros behind it, and no block more. */
static bool has_good_tail(ext2_filsys fs, ext2_ino_t ino, unsigned int number)
{
	SCOPE_FREE uint8_t *bytes = malloc(fs->blocksize);
	struct ext2_inode inode;
	uint64_t end_block, used;

	check(ext2fs_read_inode(fs, ino, &inode), "inode");
	end_block = (EXT2_I_SIZE(&inode) + fs->blocksize - 1) / fs->blocksize;
	used = EXT2_I_SIZE(&inode) % fs->blocksize;
	for (uint64_t block = 0; block < 50; block++) {
		blk64_t physical;

		check(ext2fs_bmap2(fs, ino, &inode, NULL, 0, block, NULL, &physical), "map");
		if (!physical != (block >= end_block || (number % 2 && block % 2)))
			return false;
		if (!physical || block + 1 < end_block || !used)
			continue;
		check(io_channel_read_blk64(fs->io, physical, 1, bytes), "read");
		for (uint64_t byte = 0; byte < fs->blocksize; byte++)
			if (bytes[byte] != (byte < used ? CONTENT : 0))
				return false;
	}
	return true;
}

static int tails(void)
{
	ext2_filsys fs = open_image();
	unsigned int good = 0;
	char name[32];
	ext2_ino_t ino;

	for (unsigned int number = 0;; number++) {
		snprintf(name, sizeof(name), "truncated-%u", number);
		if (ext2fs_lookup(fs, EXT2_ROOT_INO, name, (int)strlen(name), NULL, &ino))
			break;
		if (has_good_tail(fs, ino, number))
			good++;
		else
			printf("%s: wrong content\n", name);
	}
	printf("%u tails\n", good);
	check(ext2fs_close(fs), "close");
	return 0;
}

/* --- hold --------------------------------------------------------------------------------------------------- */

static int hold(const char *directory, int count, const char *command)
{
	static const char content[10000] = "to be deleted";
	struct rlimit limit = { (rlim_t)count + 20, (rlim_t)count + 20 };
	char path[4096];

	if (setrlimit(RLIMIT_NOFILE, &limit))
		perror("orphans: descriptors");
	for (int number = 0; number < count; number++) {
		snprintf(path, sizeof(path), "%s/held-%d", directory, number);
		int descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

		if (descriptor < 0 || write(descriptor, content, sizeof(content)) != sizeof(content) || unlink(path)) {
			fprintf(stderr, "orphans: %s: %s\n", path, strerror(errno));
			return 1;
		}
	}
	return system(command) != 0; /* the files are closed when this process ends */
}

int main(int argc, char **argv)
{
	const char *command = argc > 2 ? argv[1] : "";

	initialize_ext2_error_table();
	initialize_e2mb_error_table();
	image = argc > 2 ? argv[2] : "";
	if (argc == 5 && !strcmp(command, "leave"))
		return leave((unsigned int)atoi(argv[3]), (unsigned int)atoi(argv[4]));
	if (argc == 3 && !strcmp(command, "list"))
		return list();
	if (argc == 3 && !strcmp(command, "release"))
		return release(false);
	if (argc == 3 && !strcmp(command, "release-attached"))
		return release(true);
	if (argc == 3 && !strcmp(command, "tails"))
		return tails();
	if (argc == 5 && !strcmp(command, "hold"))
		return hold(argv[2], atoi(argv[3]), argv[4]);
	fprintf(stderr, "usage: orphans leave|list|release|release-attached|tails IMAGE ..., orphans hold ...\n");
	return 2;
}
