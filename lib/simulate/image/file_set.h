/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A directory of simulated files: their inodes and extents, first in memory, in the end in the image. Sets may have
 * subdirectories, which are sets.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ext2fs/ext2mb.h"
#include "ondisk/file_map.h"

struct image;
struct inode_buffers;

/* A line of the cache of its own: threads write to neighbouring files. */
struct simulated_file {
	_Alignas(64) struct extent_list map;
	uint64_t *map_blocks; /* owned: of the map's own blocks; set by file_set_place() */
	uint32_t map_count;
	uint32_t ino;    /* 0: does not exist */
	uint32_t blocks; /* its size so far; mapped without holes */
};

struct file_set {
	struct file_set *parent;       /* NULL: it is in the root */
	struct file_set *next, *first; /* sister; first subdirectory */
	char *name;                    /* owned */
	struct simulated_file *files;  /* owned; the file at index N is called "N", all with as many digits */
	size_t count;
	struct inode_buffers *buffers;   /* owned; NULL: inodes are made in the end only, not while the workload runs */
	struct simulated_file directory; /* itself; its extents are set by file_set_place() */
};

/*
 * Makes a set within parent (NULL: the image's own, in the root; at most one) with a name of its own and room for
 * count files, and takes the directory's inode number. Freed with the image. ENOMEM, EXT2MB_ET_NO_INODES. Main thread.
 */
MUST_CHECK errcode_t file_set_create(struct image *image, struct file_set *parent, const char *name, size_t count,
                                     struct file_set **ret);

/* The same without the inode number, which the directory must have before any of its files. ENOMEM. Main thread. */
MUST_CHECK errcode_t file_set_prepare(struct image *image, struct file_set *parent, const char *name, size_t count,
                                      struct file_set **ret);

/* Takes it, within a parent that has one. Any thread, each directory by one. */
MUST_CHECK errcode_t file_set_alloc_directory(struct file_set *set, struct ext2mb_worker *worker);

/* Takes an inode number for a file that has none. Any thread, each file by one. */
MUST_CHECK errcode_t file_set_alloc_inode(struct file_set *set, size_t index, struct ext2mb_worker *worker);

/* The same for all files, in order. */
MUST_CHECK errcode_t file_set_alloc_inodes(struct file_set *set, struct ext2mb_worker *worker);

/*
 * Opens the file's handle for ext2mb. final_blocks: how many it will have when it is closed; 0: not known. Errors of
 * ext2mb_file_open().
 */
MUST_CHECK errcode_t simulated_file_open(const struct file_set *set, const struct simulated_file *file,
                                         uint64_t final_blocks, struct ext2mb_worker *worker,
                                         struct ext2mb_file **handle);

/* It has been closed, and will have so many blocks; what its handle has reserved for it stays. The handle's thread. */
void simulated_file_ends(struct ext2mb_file *handle, uint64_t blocks);

/*
 * The file grows at its end, through its handle, until it has so many blocks. flags: EXT2MB_FILE_UNWRITTEN. Errors of
 * ext2mb_file_alloc(); it may have grown in part then. Each file by one thread at a time.
 */
MUST_CHECK errcode_t simulated_file_append(struct simulated_file *file, struct ext2mb_worker *worker,
                                           struct ext2mb_file *handle, uint32_t blocks, uint32_t flags);

/*
 * Takes the blocks that the file's map has come to need, as the kernel does it while a file grows. What is not taken
 * here file_set_place() takes. Errors of ext2mb_alloc().
 */
MUST_CHECK errcode_t simulated_file_grow_map(struct image *image, struct simulated_file *file,
                                             struct ext2mb_worker *worker);

/* simulated_file_append(), and after each extent what the map needs. */
MUST_CHECK errcode_t simulated_file_append_with_map(struct image *image, struct simulated_file *file,
                                                    struct ext2mb_worker *worker, struct ext2mb_file *handle,
                                                    uint32_t blocks, uint32_t flags);

/*
 * As Linux writes back what has no blocks yet: at most 2048 blocks are asked for at once. image: as with
 * simulated_file_append_with_map(); NULL: the map takes nothing.
 */
MUST_CHECK errcode_t simulated_file_write_back(struct image *image, struct simulated_file *file,
                                               struct ext2mb_worker *worker, struct ext2mb_file *handle,
                                               uint32_t blocks);

/* The same through a handle of its own, which knows that these are all blocks. flags: EXT2MB_FILE_UNWRITTEN. */
MUST_CHECK errcode_t simulated_file_finish(const struct file_set *set, struct simulated_file *file,
                                           struct ext2mb_worker *worker, uint32_t blocks, uint32_t flags);

/* The same without a handle, as near to the goal as can be. Errors of ext2mb_alloc(). */
MUST_CHECK errcode_t simulated_file_append_near(struct simulated_file *file, struct ext2mb_worker *worker,
                                                uint64_t goal, uint32_t blocks);

/* Frees all but its first blocks; its map must not have been placed yet. */
MUST_CHECK errcode_t simulated_file_shrink(struct simulated_file *file, struct ext2mb_worker *worker, uint32_t blocks);

/* Frees the file's blocks, map included; it is empty then. */
MUST_CHECK errcode_t simulated_file_truncate(struct simulated_file *file, struct ext2mb_worker *worker);

/* Truncates it and frees its inode: the directory does not list it any more. */
MUST_CHECK errcode_t simulated_file_delete(struct simulated_file *file, struct ext2mb_worker *worker);

/*
 * The runs that filefrag(8) counts: extents that follow one another on disk are one. *index, 0 at first, is that of the
 * extent after the run. False after the last one.
 */
bool simulated_file_next_run(const struct simulated_file *file, size_t *index, struct ext2mb_extent *run);

/*
 * Takes blocks for what has none yet: the files' maps, near their inodes, and the directories. (The kernel takes a
 * map's blocks one by one while the file grows.) Main thread.
 */
MUST_CHECK errcode_t file_set_place(struct image *image, struct file_set *set);

/* Writes maps, directories and inodes of a set that was placed, and of its subdirectories. Main thread. */
MUST_CHECK errcode_t file_set_write(struct image *image, const struct file_set *set);

/* NULL is allowed. */
void file_set_free(struct file_set *set);
