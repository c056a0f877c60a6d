/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a trace: those that it makes, and those of the image, which are read when the trace first names them.
 * One thread.
 */
#pragma once

#include <sys/queue.h>

#include "simulate/image/image.h"
#include "simulate/replay/file_runs.h"
#include "simulate/replay/traced_blocks.h"

struct replay_file {
	uint32_t ino;           /* the kernel's inode number */
	uint32_t simulated_ino; /* the policy's inode number */
	uint32_t parent;        /* a simulated_ino; 0: not known */
	uint32_t mode;          /* 0: not known */
	bool is_counted;        /* the trace allocates or frees its blocks */
	bool is_deleted;        /* the trace has deleted it without freeing all of its blocks */
	struct file_runs runs;
	uint64_t other_blocks;      /* of its map and xattrs; for a directory all */
	uint64_t references;        /* its blocks in traced_blocks */
	struct ext2mb_file *handle; /* NULL: not open */
	struct ext2mb_worker *opener;
	uint64_t final_blocks; /* its final size; 0: unknown */
	LIST_ENTRY(replay_file) all;
};

/* Contradictions. All 0: the image is the one with which the trace began, and the trace has all events. */
struct replay_contradictions {
	uint64_t unknown_files;  /* neither in the image nor made by the trace */
	uint64_t made_twice;     /* inodes that the trace makes although they are in use */
	uint64_t taken_twice;    /* blocks that the trace allocates although they are in use */
	uint64_t unknown_blocks; /* blocks that the trace frees although they are free */
	uint64_t impossible;     /* events with numbers that are impossible on the filesystem */
	uint64_t moved;          /* allocations for mapped parts of files: extents were moved */
};

/* Zero-initialise but for the image. */
struct replay_files {
	struct image *image;
	void *tree;                   /* of tsearch(3), by inode number: existing files */
	LIST_HEAD(, replay_file) all; /* with deleted ones */
	uint8_t *known;               /* a bit for each inode: the image's state does not count any more */
	struct traced_blocks blocks;
	struct replay_contradictions contradictions;
};

/* ENOMEM. */
MUST_CHECK errcode_t replay_files_open(struct replay_files *files, struct image *image);

/* Returns NULL if there is none, or it has not been read from the image. */
struct replay_file *replay_files_look_up(const struct replay_files *files, uint32_t ino);

/*
 * The same, but reads it from the image, or makes one up if it does not exist. *ret NULL: not a valid inode number.
 * ENOMEM, errors of reading the image.
 */
MUST_CHECK errcode_t replay_files_find(struct replay_files *files, uint32_t ino, struct replay_file **ret);

/* Makes a new file, which replay_files_look_up() does not find. *ret NULL: not a valid inode number. */
MUST_CHECK errcode_t replay_files_create(struct replay_files *files, uint32_t ino, struct replay_file **ret);

/* Deletes a file, whose handle must be closed. It is freed once it has no blocks. */
void replay_files_delete(struct replay_files *files, struct replay_file *file);

/* Removes blocks from the file, which may be freed by that. */
void replay_files_release(struct replay_file *file, uint64_t blocks);

/* Calls show for existing files, by inode number. */
void replay_files_each(const struct replay_files *files, void (*show)(const struct replay_file *file, void *context),
                       void *context);

void replay_files_close(struct replay_files *files);
