/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that a trace is about: those that it makes, and those that the image has already, which are read when the
 * trace first names them. One thread.
 */
#pragma once

#include "simulate/image/image.h"
#include "simulate/replay/file_runs.h"
#include "simulate/replay/traced_blocks.h"

struct replay_file {
	uint32_t ino;           /* the kernel's */
	uint32_t simulated_ino; /* the policy's */
	uint32_t parent;        /* a simulated_ino; 0: not known */
	uint32_t mode;          /* 0: not known */
	bool is_counted;        /* the trace allocates or frees blocks of it */
	bool is_deleted;        /* but the trace did not free all of its blocks */
	struct file_runs runs;
	uint64_t other_blocks;      /* of its map and attributes, of a directory all */
	uint64_t references;        /* blocks that say in traced_blocks that they are its own */
	struct ext2mb_file *handle; /* NULL: not open */
	uint64_t final_blocks;      /* where it ends; 0: not known */
	struct replay_file *previous, *next;
};

/* What does not fit together. All 0: the image is the one that the trace began with, and the trace has all events. */
struct replay_contradictions {
	uint64_t unknown_files;  /* that neither the image has nor the trace makes */
	uint64_t made_twice;     /* inodes that the trace makes, and that are in use */
	uint64_t taken_twice;    /* blocks that the trace allocates, and that are in use */
	uint64_t unknown_blocks; /* that the trace frees, and nobody has */
	uint64_t impossible;     /* events with numbers that the filesystem cannot have */
	uint64_t moved;          /* allocations for places of files that have blocks: extents were moved */
};

/* Zero-initialise but for the image. */
struct replay_files {
	struct image *image;
	void *tree;                /* of tsearch(3), by inode number: those that exist */
	struct replay_file *first; /* all, the deleted ones too */
	uint8_t *known;            /* a bit for each inode: what the image says of it does not count any more */
	struct traced_blocks blocks;
	struct replay_contradictions contradictions;
};

/* ENOMEM. */
MUST_CHECK errcode_t replay_files_open(struct replay_files *files, struct image *image);

/* NULL: there is none, or the image has it and it has not been read. */
struct replay_file *replay_files_look_up(const struct replay_files *files, uint32_t ino);

/*
 * The same, and the image's is read; where there is none, one is made up. *ret NULL: no inode can have this
 * number. ENOMEM, errors of reading the image.
 */
MUST_CHECK errcode_t replay_files_find(struct replay_files *files, uint32_t ino, struct replay_file **ret);

/* A new one, which replay_files_look_up() does not find. *ret NULL: no inode can have this number. */
MUST_CHECK errcode_t replay_files_create(struct replay_files *files, uint32_t ino, struct replay_file **ret);

/* It exists no longer. It is freed once no block is its own; its handle must be closed. */
void replay_files_delete(struct replay_files *files, struct replay_file *file);

/* Blocks are no longer the file's, which may be freed now. */
void replay_files_release(struct replay_files *files, struct replay_file *file, uint64_t blocks);

/* Shows those that exist, by inode number. */
void replay_files_each(const struct replay_files *files, void (*show)(const struct replay_file *file, void *context),
                       void *context);

void replay_files_close(struct replay_files *files);
