/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a little of everything that libext2mb does to the filesystem in an image, and undoes it: use_allocator IMAGE.
 * A call that fails is named, and what has been allocated is given back.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ext2fs/ext2mb.h"
#include "ext2fs/ext2mb_err.h"
#include "filesystem/fs_errors.h"

#define EXTENTS 200
#define FILES 3
#define INODES 20

struct use {
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
	struct ext2mb_file *files[FILES];
	struct ext2mb_extent extents[EXTENTS];
	ext2_ino_t inodes[INODES];
	unsigned int extent_count, inode_count;
	const char *step;
};

static errcode_t take(struct use *use)
{
	struct ext2mb_extent *extent = &use->extents[use->extent_count];
	unsigned int file = use->extent_count % (FILES + 1);
	errcode_t error;

	use->step = "allocate";
	if (file < FILES) {
		struct ext2mb_file_request request = { .struct_bytes = sizeof(request),
			                               .logical = use->extent_count,
			                               .count = 1 };

		error = ext2mb_file_alloc(use->worker, use->files[file], &request, extent);
	} else {
		struct ext2mb_request request = { .struct_bytes = sizeof(request), .count = 7 };

		error = ext2mb_alloc(use->worker, &request, extent);
	}
	use->extent_count += !error;
	return error;
}

static errcode_t take_inodes(struct use *use)
{
	struct ext2mb_inode_request request = { .struct_bytes = sizeof(request), .parent = EXT2_ROOT_INO };
	errcode_t error = 0;

	use->step = "allocate an inode";
	while (!error && use->inode_count < INODES) {
		error = ext2mb_inode_alloc(use->worker, &request, &use->inodes[use->inode_count]);
		use->inode_count += !error;
	}
	return error;
}

static errcode_t take_all(struct use *use)
{
	errcode_t error = 0;

	use->step = "open a worker";
	error = ext2mb_worker_open(use->mb, &use->worker);
	for (int file = 0; !error && file < FILES; file++) {
		struct ext2mb_file_info info = { .struct_bytes = sizeof(info), .ino = 100 + (ext2_ino_t)file };

		use->step = "open a file";
		error = ext2mb_file_open(use->worker, &info, &use->files[file]);
	}
	while (!error && use->extent_count < EXTENTS)
		error = take(use);
	return error ? error : take_inodes(use);
}

/* A free that fails for want of memory can be tried again; the one allocation that fails is over. */
static errcode_t give_back(struct use *use)
{
	errcode_t first = 0;

	for (unsigned int extent = 0; extent < use->extent_count; extent++) {
		errcode_t error = ext2mb_free(use->worker, use->extents[extent].start, use->extents[extent].count);

		first = first ? first : error;
		if (error && ext2mb_free(use->worker, use->extents[extent].start, use->extents[extent].count))
			abort();
	}
	for (unsigned int inode = 0; inode < use->inode_count; inode++)
		if (ext2mb_inode_free(use->worker, use->inodes[inode], 0))
			abort();
	if (first)
		use->step = "free";
	return first;
}

static errcode_t use_filesystem(ext2_filsys fs, struct use *use)
{
	char why[256] = "";

	use->step = "open the allocator";
	errcode_t error = ext2mb_open(fs, NULL, &use->mb);
	if (error)
		return error;
	uint64_t free_blocks = ext2mb_free_blocks(use->mb);
	uint64_t free_inodes = ext2mb_free_inodes(use->mb);

	error = take_all(use);
	errcode_t freeing = use->worker ? give_back(use) : 0;
	error = error ? error : freeing;
	for (int file = 0; use->worker && file < FILES; file++)
		ext2mb_file_close(use->worker, use->files[file]);
	errcode_t checking = ext2mb_check(use->mb, why, sizeof(why));
	if (checking && *why)
		abort();
	if (checking && !error)
		use->step = "check";
	error = error ? error : checking;
	/* Once more if that was what had no memory. */
	errcode_t syncing = ext2mb_sync(use->mb);
	if (syncing && !error)
		use->step = "sync";
	if (syncing && ext2mb_sync(use->mb))
		abort();
	error = error ? error : syncing;
	if (ext2mb_free_blocks(use->mb) != free_blocks || ext2mb_free_inodes(use->mb) != free_inodes)
		abort();
	if (use->worker)
		ext2mb_worker_close(use->worker);
	ext2mb_close(use->mb);
	return error;
}

int main(int count, char **arguments)
{
	struct use use = { .step = "open" };
	ext2_filsys fs = NULL;

	initialize_ext2_error_table();
	initialize_e2mb_error_table();
	if (count != 2)
		return 2;
	errcode_t error = fs_open(arguments[1], 0, EXT2_FLAG_RW, &fs);
	if (!error)
		error = use_filesystem(fs, &use);
	if (fs)
		ext2fs_free(fs);
	if (error)
		fprintf(stderr, "use_allocator: %s: %s: %s\n", arguments[1], use.step, error_message(error));
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
