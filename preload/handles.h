/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program's filesystems that libext2mb has been put under. What of libext2fs belongs to a program, priv_data, is
 * its own, so they stand in a table beside it.
 */
#pragma once

#include <stdbool.h>

#include <ext2fs/ext2fs.h>

#include "ext2fs/ext2mb.h"

struct handle {
	ext2_filsys fs;
	bool is_new;        /* made by ext2fs_initialize(), which has no tables yet */
	bool is_journalled; /* its io_channel collects transactions */
	bool has_step;      /* one that ext2mb_transaction_begin() has begun */
	unsigned int steps; /* since the last commit */
	bool was_told;      /* the user, why nothing more can be written */
	bool was_refused;   /* libext2fs's own allocation serves the program, as has been said */
	struct ext2mb *mb;  /* NULL: not attached */
	struct ext2mb_worker *worker;
	ext2_ino_t given;  /* by ext2fs_new_inode() last, and not marked by the program yet; 0: none */
	bool is_directory; /* what it was given for */
	struct handle *next;
};

/* NULL: it is not one of ours. Stays until handle_remove(); a filesystem belongs to one thread at a time. */
struct handle *handle_of(ext2_filsys fs);

/* NULL: there is no memory. */
struct handle *handle_add(ext2_filsys fs);

/* After handle_detach(). NULL is allowed. */
void handle_remove(struct handle *handle);

/* Attaches the allocator once the filesystem has what it needs: bitmaps, and for new ones tables. Says why not, once.
 */
void handle_attach(struct handle *handle);

/* From here on libext2fs's own allocation serves the program. Does nothing if it did before. */
void handle_detach(struct handle *handle);

/*
 * Of journalled filesystems. What fails is said; from then on nothing more can be written to that one. But what debugfs
 * was refused is undone, with all since the last commit, and it goes on: a command that may be refused begins after a
 * commit, and ends with one.
 */
void handles_begin(void);
void handles_end(void);

/* Writes what libext2fs keeps in memory of them into their transactions, and commits these. Not within a step. */
errcode_t handles_commit(void);
errcode_t handle_commit(struct handle *handle);

/* Has one of them its journal in this inode? */
bool handles_have_journal_in(ext2_ino_t ino);

/* Of one that is opened within a step. */
void handle_begin(struct handle *handle);
