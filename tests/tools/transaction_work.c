/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "transaction_work.h"

#include <err.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ext2fs/ext2mb.h"

#define NOW 1700000000
#define MOST_BYTES 24576
#define MAGIC "\xc0\x3b\x39\x98" /* of a journal's own blocks: what begins with it has to be escaped */

static void check(errcode_t error, const char *what)
{
	if (error)
		errx(2, "%s: %s", what, error_message(error));
}

static void link_name(struct work *work, ext2_ino_t directory, const char *name, ext2_ino_t ino)
{
	errcode_t error = ext2fs_link(work->fs, directory, name, ino, EXT2_FT_REG_FILE);

	if (error == EXT2_ET_DIR_NO_SPACE) {
		check(ext2fs_expand_dir(work->fs, directory), "expand_dir");
		error = ext2fs_link(work->fs, directory, name, ino, EXT2_FT_REG_FILE);
	}
	check(error, "link");
}

static void fill(struct work *work, uint8_t *contents, uint32_t bytes)
{
	for (uint32_t at = 0; at < bytes; at += 8) {
		uint64_t value = random_next(&work->random);

		memcpy(contents + at, &value, 8);
	}
	for (uint32_t at = 0; at < bytes; at += 1024)
		if (!random_below(&work->random, 4))
			memcpy(contents + at, MAGIC, 4);
}

static void write_at(struct work *work, ext2_ino_t ino, uint64_t offset, uint32_t bytes)
{
	static uint8_t contents[1 << 20];
	ext2_file_t file;
	unsigned int written;

	fill(work, contents, bytes);
	check(ext2fs_file_open(work->fs, ino, EXT2_FILE_WRITE, &file), "file_open");
	check(ext2fs_file_llseek(file, offset, EXT2_SEEK_SET, NULL), "llseek");
	check(ext2fs_file_write(file, contents, bytes, &written), "file_write");
	check(ext2fs_file_close(file), "file_close");
}

static ext2_ino_t make_file(struct work *work, ext2_ino_t directory, uint32_t bytes, const char *name)
{
	struct ext2_inode inode = {
		.i_mode = LINUX_S_IFREG | 0644,
		.i_links_count = 1,
		.i_mtime = NOW,
	};
	ext2_ino_t ino;

	check(ext2fs_new_inode(work->fs, directory, inode.i_mode, NULL, &ino), "new_inode");
	if (ext2fs_has_feature_extents(work->fs->super)) {
		ext2_extent_handle_t handle;

		inode.i_flags = EXT4_EXTENTS_FL;
		check(ext2fs_extent_open2(work->fs, ino, &inode, &handle), "extent_open");
		ext2fs_extent_free(handle);
	}
	ext2fs_inode_alloc_stats2(work->fs, ino, +1, 0);
	check(ext2fs_write_new_inode(work->fs, ino, &inode), "write_new_inode");
	if (bytes)
		write_at(work, ino, 0, bytes);
	link_name(work, directory, name, ino);
	return ino;
}

#define DATA_THREADS 3

struct data_part {
	const struct work *work;
	blk64_t start, count;
	uint8_t *data;
	errcode_t error;
	pthread_t thread;
};

static void *write_part(void *context)
{
	struct data_part *part = context;
	const struct work *work = part->work;

	/* Through the journal, where a block was in use at the last commit. */
	part->error = work->write_data ? work->write_data(work->fs, part->start, part->count, part->data) :
	                                 EXT2MB_ET_NOT_FREE;
	if (part->error == EXT2MB_ET_NOT_FREE)
		part->error = io_channel_write_blk64(work->fs->io, part->start, (int)part->count, part->data);
	return NULL;
}

static void write_parts(const struct work *work, struct data_part *parts, unsigned int count)
{
	/* libext2fs's own channel is for one thread. */
	for (unsigned int index = 0; index < count; index++)
		if (!work->write_data)
			write_part(&parts[index]);
		else if (pthread_create(&parts[index].thread, NULL, write_part, &parts[index]))
			errx(2, "pthread_create");
	for (unsigned int index = 0; index < count; index++) {
		if (work->write_data && pthread_join(parts[index].thread, NULL))
			errx(2, "pthread_join");
		check(parts[index].error, "write_data");
		free(parts[index].data);
	}
}

/* Blocks first, then their contents, which are in place before anything refers to them. */
static void write_by_threads(struct work *work, ext2_ino_t ino, uint32_t blocks)
{
	const uint32_t block_bytes = work->fs->blocksize;
	struct data_part parts[DATA_THREADS] = { 0 };
	struct ext2_inode inode;

	check(ext2fs_read_inode(work->fs, ino, &inode), "read_inode");
	for (uint32_t at = 0; at < blocks; at++) {
		struct data_part *part = &parts[at * DATA_THREADS / blocks];
		blk64_t block = 0;
		int flags = 0;

		check(ext2fs_bmap2(work->fs, ino, &inode, NULL, BMAP_ALLOC, at, &flags, &block), "bmap");
		/* A part of it is one run, or the rest goes down by itself. */
		if (part->count && part->start + part->count != block) {
			write_parts(work, part, 1);
			*part = (struct data_part){ 0 };
		}
		if (!part->count)
			*part = (struct data_part){ .work = work, .start = block };
		part->data = realloc(part->data, (size_t)(part->count + 1) * block_bytes);
		if (!part->data)
			errx(2, "out of memory");
		fill(work, part->data + part->count++ * block_bytes, block_bytes);
	}
	write_parts(work, parts, DATA_THREADS);
	check(ext2fs_inode_size_set(work->fs, &inode, (ext2_off64_t)blocks * block_bytes), "size_set");
	check(ext2fs_write_inode(work->fs, ino, &inode), "write_inode");
}

static ext2_ino_t some_directory(struct work *work)
{
	return work->directories[random_below(&work->random, work->directory_count)];
}

static void create(struct work *work)
{
	struct work_file *file = &work->files[work->file_count++];

	file->directory = some_directory(work);
	snprintf(file->name, sizeof(file->name), "file%u", work->names++);
	if (random_below(&work->random, 2)) {
		file->ino =
			make_file(work, file->directory, (uint32_t)random_below(&work->random, MOST_BYTES), file->name);
		return;
	}
	file->ino = make_file(work, file->directory, 0, file->name);
	write_by_threads(work, file->ino, DATA_THREADS + (uint32_t)random_below(&work->random, 20));
}

static void make_directory(struct work *work)
{
	ext2_ino_t parent = some_directory(work), ino;
	char name[24];

	snprintf(name, sizeof(name), "directory%u", work->names++);
	errcode_t error = ext2fs_mkdir(work->fs, parent, 0, name);

	if (error == EXT2_ET_DIR_NO_SPACE) {
		check(ext2fs_expand_dir(work->fs, parent), "expand_dir");
		error = ext2fs_mkdir(work->fs, parent, 0, name);
	}
	check(error, "mkdir");
	check(ext2fs_lookup(work->fs, parent, name, (int)strlen(name), NULL, &ino), "lookup");
	if (work->directory_count < WORK_DIRECTORIES)
		work->directories[work->directory_count++] = ino;
}

static void delete (struct work *work, struct work_file *file)
{
	struct ext2_inode inode;
	blk64_t block = 0;

	check(ext2fs_unlink(work->fs, file->directory, file->name, 0, 0), "unlink");
	check(ext2fs_read_inode(work->fs, file->ino, &inode), "read_inode");
	check(ext2fs_bmap2(work->fs, file->ino, &inode, NULL, 0, 0, NULL, &block), "bmap");
	check(ext2fs_punch(work->fs, file->ino, &inode, NULL, 0, ~0ull), "punch");
	inode.i_links_count = 0;
	inode.i_dtime = NOW;
	check(ext2fs_write_inode(work->fs, file->ino, &inode), "write_inode");
	ext2fs_inode_alloc_stats2(work->fs, file->ino, -1, 0);
	if (block)
		check(io_channel_discard(work->fs->io, block, 1), "discard");
	*file = work->files[--work->file_count];
}

static void rename_file(struct work *work, struct work_file *file)
{
	ext2_ino_t directory = some_directory(work);
	char name[24];

	snprintf(name, sizeof(name), "renamed%u", work->names++);
	link_name(work, directory, name, file->ino);
	check(ext2fs_unlink(work->fs, file->directory, file->name, 0, 0), "unlink");
	memcpy(file->name, name, sizeof(name));
	file->directory = directory;
}

static void truncate_file(struct work *work, const struct work_file *file)
{
	ext2_file_t handle;

	check(ext2fs_file_open(work->fs, file->ino, EXT2_FILE_WRITE, &handle), "file_open");
	check(ext2fs_file_set_size2(handle, ext2fs_file_get_size(handle) / 2), "set_size");
	check(ext2fs_file_close(handle), "file_close");
}

/* Often from the beginning of a block, which may then have to be escaped in the log. */
static void overwrite(struct work *work, ext2_ino_t ino)
{
	uint64_t offset = random_below(&work->random, MOST_BYTES);

	if (random_below(&work->random, 2))
		offset -= offset % work->fs->blocksize;
	write_at(work, ino, offset, 5000);
}

static void change_something(struct work *work)
{
	struct work_file *file = &work->files[work->file_count ? random_below(&work->random, work->file_count) : 0];
	uint64_t what = random_below(&work->random, 12);

	if (work->file_count < 4 || (what < 4 && work->file_count < WORK_MOST_FILES))
		create(work);
	else if (what < 6)
		overwrite(work, file->ino);
	else if (what < 7)
		make_directory(work);
	else if (what < 9)
		delete (work, file);
	else if (what < 11)
		rename_file(work, file);
	else
		truncate_file(work, file);
}

/* So much as the journal can have. */
static void overwrite_large(struct work *work)
{
	uint32_t bytes = work->large_blocks * work->fs->blocksize, part = 1 << 20;

	if (!work->large)
		work->large = make_file(work, EXT2_ROOT_INO, 0, "large");
	for (uint32_t at = 0; at < bytes; at += part)
		write_at(work, work->large, at, bytes - at < part ? bytes - at : part);
}

void work_init(struct work *work, uint64_t seed, unsigned int large_blocks, work_write_data write_data)
{
	*work = (struct work){
		.random = { seed },
		.directories = { EXT2_ROOT_INO },
		.directory_count = 1,
		.large_blocks = large_blocks,
		.write_data = write_data,
	};
}

void work_step(struct work *work, unsigned int changes)
{
	work->fs->now = NOW;
	if (work->large_blocks)
		overwrite_large(work);
	for (unsigned int index = 0; index < changes; index++) {
		change_something(work);
		/* Not a commit. */
		if (index == changes / 2)
			check(ext2fs_flush(work->fs), "flush");
	}
}
