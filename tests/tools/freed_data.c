/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * freed_data attached|alone IMAGE
 *
 * As fuse2fs with libfuse 3 does it, which frees in `open`: a file is overwritten in its place, as named data, opened
 * with O_TRUNC, and directories are made until one has a block that was the file's. In each state of the disk until the
 * commit has returned, the file is empty, or it has its own contents, old or new. IMAGE: a new filesystem. Exit status
 * 1: it has not.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2mb.h>

#include "crash_judge.h"
#include "transaction/channel.h"
#include "recorded_disk.h"
#include "support/cleanup.h"

#define FILE_BLOCKS 16
#define MOST_DIRECTORIES 500

struct scene {
	const char *image;
	ext2_filsys fs;
	ext2_ino_t file;
	blk64_t blocks[FILE_BLOCKS]; /* the file's */
};

static void check(errcode_t error, const char *what)
{
	if (error)
		errx(2, "%s: %s", what, error_message(error));
}

static ext2_filsys open_image(const char *path, int flags, io_manager manager)
{
	ext2_filsys fs;

	check(ext2fs_open(path, flags | EXT2_FLAG_64BITS, 0, 0, manager, &fs), "open");
	check(ext2fs_read_bitmaps(fs), "read_bitmaps");
	return fs;
}

static errcode_t open_recorded(const char *name, int flags, io_channel *channel);

static struct struct_io_manager recorded_functions;
static const struct channel_manager recorded = { .functions = &recorded_functions, .backing = &recorded_disk_manager };

static errcode_t open_recorded(const char *name, int flags, io_channel *channel)
{
	return channel_open(name, flags, &recorded, channel);
}

static void write_all(const struct scene *scene, int byte)
{
	unsigned int bytes = FILE_BLOCKS * scene->fs->blocksize, written;
	SCOPE_FREE char *contents = malloc(bytes);
	ext2_file_t file;

	if (!contents)
		errx(2, "out of memory");
	memset(contents, byte, bytes);
	check(ext2fs_file_open(scene->fs, scene->file, EXT2_FILE_WRITE, &file), "file_open");
	check(ext2fs_file_write(file, contents, bytes, &written), "file_write");
	check(ext2fs_file_close(file), "file_close");
}

static void make_file(struct scene *scene)
{
	struct ext2_inode inode = { .i_mode = LINUX_S_IFREG | 0644, .i_links_count = 1 };
	ext2_filsys fs = scene->fs;

	check(ext2fs_new_inode(fs, EXT2_ROOT_INO, inode.i_mode, NULL, &scene->file), "new_inode");
	ext2fs_inode_alloc_stats2(fs, scene->file, +1, 0);
	check(ext2fs_write_new_inode(fs, scene->file, &inode), "write_new_inode");
	check(ext2fs_link(fs, EXT2_ROOT_INO, "file", scene->file, EXT2_FT_REG_FILE), "link");
	write_all(scene, 'o');
	for (blk64_t index = 0; index < FILE_BLOCKS; index++)
		check(ext2fs_bmap2(fs, scene->file, NULL, NULL, 0, index, NULL, &scene->blocks[index]), "bmap");
}

static void begin(const struct scene *scene)
{
	check(ext2mb_transaction_begin(scene->fs), "begin");
}

static void end(const struct scene *scene)
{
	check(ext2mb_transaction_end(scene->fs), "end");
}

static void overwrite_named(const struct scene *scene)
{
	begin(scene);
	for (unsigned int index = 0; index < FILE_BLOCKS; index++)
		check(ext2mb_transaction_name_data(scene->fs, scene->blocks[index], 1), "name_data");
	write_all(scene, 'n');
	end(scene);
}

static void open_with_truncation(const struct scene *scene)
{
	ext2_file_t file;

	begin(scene);
	check(ext2fs_file_open(scene->fs, scene->file, EXT2_FILE_WRITE, &file), "file_open");
	check(ext2fs_file_set_size2(file, 0), "set_size");
	check(ext2fs_file_close(file), "file_close");
	end(scene);
}

static bool was_of_file(const struct scene *scene, blk64_t block)
{
	for (unsigned int index = 0; index < FILE_BLOCKS; index++)
		if (scene->blocks[index] == block)
			return true;
	return false;
}

static void make_directories(const struct scene *scene)
{
	ext2_filsys fs = scene->fs;
	blk64_t block = 0;

	for (unsigned int number = 0; number < MOST_DIRECTORIES && !was_of_file(scene, block); number++) {
		ext2_ino_t directory;
		char name[24];

		snprintf(name, sizeof(name), "directory%u", number);
		begin(scene);
		errcode_t error = ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, name);

		if (error == EXT2_ET_DIR_NO_SPACE) {
			check(ext2fs_expand_dir(fs, EXT2_ROOT_INO), "expand_dir");
			error = ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, name);
		}
		check(error, "mkdir");
		end(scene);
		check(ext2fs_lookup(fs, EXT2_ROOT_INO, name, (int)strlen(name), NULL, &directory), "lookup");
		check(ext2fs_bmap2(fs, directory, NULL, NULL, 0, 0, NULL, &block), "bmap");
	}
	if (!was_of_file(scene, block))
		errx(2, "no directory has a block that was the file's");
}

/* NULL, or what is wrong with the file on a disk after its replay. */
static const char *judge_file(const struct crash_judge *judge, const struct scene *scene)
{
	ext2_filsys fs = open_image(judge->path, 0, unix_io_manager);
	unsigned int bytes = FILE_BLOCKS * fs->blocksize, got = 0;
	SCOPE_FREE char *contents = malloc(bytes);
	const char *problem = NULL;
	ext2_file_t file;

	if (!contents)
		errx(2, "out of memory");
	check(ext2fs_file_open(fs, scene->file, 0, &file), "file_open");
	check(ext2fs_file_read(file, contents, bytes, &got), "file_read");
	if (got && got != bytes)
		problem = "half of the file is there";
	for (unsigned int at = 0; at < got && !problem; at++)
		if (contents[at] != 'o' && contents[at] != 'n')
			problem = "the file has what was never written to it";
	check(ext2fs_file_close(file), "file_close");
	ext2fs_free(fs);
	return problem;
}

/* After each write. */
static unsigned int judge_all(struct crash_judge *judge, const struct scene *scene, uint8_t *disk)
{
	unsigned int wrong = 0;

	for (size_t index = 0; index <= recorded_disk.count; index++) {
		const struct disk_event *event = index ? &recorded_disk.events[index - 1] : NULL;

		if (event && event->kind != DISK_WRITE)
			continue;
		if (event)
			memcpy(disk + event->offset, event->data, event->bytes);
		const char *problem = crash_judge_replay(judge, disk);

		if (!problem)
			problem = judge_file(judge, scene);
		if (problem && !wrong++)
			printf("after %zu of %zu events: %s\n", index, recorded_disk.count, problem);
	}
	return wrong;
}

int main(int argc, char **argv)
{
	/* Not of this function, so that LeakSanitizer sees at the end what it has. */
	static struct crash_judge judge;
	static char *path;
	struct scene scene = { .image = argc == 3 ? argv[2] : NULL };
	uint64_t bytes;

	if (!scene.image || asprintf(&path, "%s.crash", scene.image) < 0)
		errx(2, "two arguments");
	initialize_ext2_error_table();
	initialize_e2mb_error_table();
	scene.fs = open_image(scene.image, EXT2_FLAG_RW, unix_io_manager);
	make_file(&scene);
	check(ext2fs_close(scene.fs), "close");
	SCOPE_FREE uint8_t *disk = recorded_disk_read(scene.image, &bytes);

	crash_judge_init(&judge, path, disk, bytes);
	recorded_functions = channel_functions(open_recorded);
	scene.fs = open_image(scene.image, EXT2_FLAG_RW, &recorded_functions);
	bool is_attached = !strcmp(argv[1], "attached");

	if (is_attached)
		check(ext2mb_attach(scene.fs, NULL), "attach");
	overwrite_named(&scene);
	open_with_truncation(&scene);
	make_directories(&scene);
	check(ext2mb_transaction_commit(scene.fs), "commit");
	if (is_attached)
		check(ext2mb_detach(scene.fs), "detach");
	check(ext2fs_close(scene.fs), "close");
	unsigned int wrong = judge_all(&judge, &scene, disk);

	printf("%s: %s\n", argv[1], wrong ? "wrong" : "right");
	return wrong != 0;
}
