/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A directory of simulated files: their inodes and extents, in memory until the end, then in the image. Sets may have
 * subdirectories, which are sets, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ext2fs/ext2mb.h"
#include "ondisk/file_map.h"

struct image;
struct inode_buffers;

/* Each file has a cache line of its own, because threads write to neighbouring files. */
struct simulated_file {
	_Alignas(64) struct extent_list map;
	uint64_t *map_blocks;       /* owned: the map's own blocks; set by file_set_place() */
	struct ext2mb_file *handle; /* NULL: the file is not open */
	uint32_t map_count;
	uint32_t ino;      /* 0: the file does not exist */
	uint32_t blocks;   /* its present size; mapped without holes */
	uint32_t pointers; /* of a block of its indirect map; 0: it has extents */
};

struct file_set {
	struct file_set *parent;       /* NULL: the set is in the root */
	struct file_set *next, *first; /* sister; first subdirectory */
	char *name;                    /* owned */
	struct simulated_file *files;  /* owned; the file at index N is called "N", all with as many digits */
	size_t count;
	struct inode_buffers *buffers;   /* owned; NULL: inodes are made at the end, not while the workload runs */
	struct simulated_file directory; /* the directory itself; its extents are set by file_set_place() */
};

/*
 * Makes a set within parent (NULL: the image's own set in the root; at most one) with a name and room for count
 * files, and allocates the directory's inode number. Freed with the image. ENOMEM, EXT2MB_ET_NO_INODES. Main thread.
 */
MUST_CHECK errcode_t file_set_create(struct image *image, struct file_set *parent, const char *name, size_t count,
                                     struct file_set **ret);

/* The same without the inode number, which the directory needs before its files. ENOMEM. Main thread. */
MUST_CHECK errcode_t file_set_prepare(struct image *image, struct file_set *parent, const char *name, size_t count,
                                      struct file_set **ret);

/* Allocates the directory's inode number, within a parent that has one. Any thread, each directory by one. */
MUST_CHECK errcode_t file_set_alloc_directory(struct file_set *set, struct ext2mb_worker *worker);

/* Allocates an inode number for a file that has none. Any thread, each file by one. */
MUST_CHECK errcode_t file_set_alloc_inode(struct file_set *set, size_t index, struct ext2mb_worker *worker);

/* The same for all files, in order. */
MUST_CHECK errcode_t file_set_alloc_inodes(struct file_set *set, struct ext2mb_worker *worker);

/*
 * Opens the file's handle for ext2mb. final_blocks: its size when it is closed; 0: unknown. Errors of
 * ext2mb_file_open().
 */
MUST_CHECK errcode_t simulated_file_open(const struct file_set *set, struct simulated_file *file, uint64_t final_blocks,
                                         struct ext2mb_worker *worker);

/* Closes the handle, if it is open. */
void simulated_file_close(struct simulated_file *file, struct ext2mb_worker *worker);

/* Notes that the file has been closed and will have this many blocks; its preallocations stay. Called by the handle's
 * thread. */
void simulated_file_ends(struct simulated_file *file, uint64_t blocks);

/*
 * Grows the file at its end, through its handle, to this many blocks. flags: EXT2MB_FILE_UNWRITTEN. image: after each
 * extent simulated_file_grow_map(); NULL: do not allocate for the map. Errors of ext2mb_file_alloc(); it may have
 * grown in part then. Each file by one thread at a time.
 */
MUST_CHECK errcode_t simulated_file_append(struct image *image, struct simulated_file *file,
                                           struct ext2mb_worker *worker, uint32_t blocks, uint32_t flags);

/*
 * Allocates the blocks that the file's map needs by now, or an indirect map for the file's next block, as the kernel
 * does while a file grows. file_set_place()
 * allocates those that are not allocated here. Errors of ext2mb_alloc().
 */
MUST_CHECK errcode_t simulated_file_grow_map(struct image *image, struct simulated_file *file,
                                             struct ext2mb_worker *worker);

/* Is the file's next block the first one of a block of its indirect map? */
static inline bool simulated_file_begins_map_block(const struct simulated_file *file)
{
	return file->blocks >= EXT2_NDIR_BLOCKS && (file->blocks - EXT2_NDIR_BLOCKS) % file->pointers == 0;
}

/* Appends as Linux's writeback does: at most 2048 blocks in a request. */
MUST_CHECK errcode_t simulated_file_write_back(struct image *image, struct simulated_file *file,
                                               struct ext2mb_worker *worker, uint32_t blocks);

/* Opens the file with EXT2MB_FILE_FINAL, appends and closes it. flags: EXT2MB_FILE_UNWRITTEN. */
MUST_CHECK errcode_t simulated_file_finish(const struct file_set *set, struct simulated_file *file,
                                           struct ext2mb_worker *worker, uint32_t blocks, uint32_t flags);

/* The same without a handle, as near to the goal as possible. Errors of ext2mb_alloc(). */
MUST_CHECK errcode_t simulated_file_append_near(struct simulated_file *file, struct ext2mb_worker *worker,
                                                uint64_t goal, uint32_t blocks);

/* Frees all but the file's first blocks; its map must not have been placed yet. */
MUST_CHECK errcode_t simulated_file_shrink(struct simulated_file *file, struct ext2mb_worker *worker, uint32_t blocks);

/* Frees all of the file's blocks, with its map's. */
MUST_CHECK errcode_t simulated_file_truncate(struct simulated_file *file, struct ext2mb_worker *worker);

/* Truncates the file and frees its inode; the directory does not list it any more. */
MUST_CHECK errcode_t simulated_file_delete(struct simulated_file *file, struct ext2mb_worker *worker);

/*
 * Returns the runs that filefrag(8) counts: extents that are adjacent on disk are one. *index, 0 at first, becomes
 * that of the extent after the run. False after the last one.
 */
bool simulated_file_next_run(const struct simulated_file *file, size_t *index, struct ext2mb_extent *run);

/*
 * Allocates missing blocks: for files' maps, near their inodes, and for directories. (The kernel allocates a map's
 * blocks one by one while the file grows.) Main thread.
 */
MUST_CHECK errcode_t file_set_place(struct image *image, struct file_set *set);

/* Writes maps, directories and inodes of a set that was placed, and of its subdirectories. Main thread. */
MUST_CHECK errcode_t file_set_write(struct image *image, const struct file_set *set);

/* NULL is allowed. */
void file_set_free(struct file_set *set);
