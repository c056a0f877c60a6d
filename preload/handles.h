/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program's filesystems that have libext2mb under them. They are kept in a list of our own, because fs->priv_data
 * belongs to the program.
 */
#pragma once

#include <stdbool.h>

#include <ext2fs/ext2fs.h>

#include "ext2fs/ext2mb.h"

struct handle {
	ext2_filsys fs;
	bool is_new;        /* made by ext2fs_initialize(), without tables yet */
	bool is_journalled; /* its io_channel collects transactions */
	bool has_step;      /* ext2mb_transaction_begin() has begun one */
	unsigned int steps; /* since the last commit */
	bool was_told;      /* the user has been told why nothing more can be written */
	bool was_refused;   /* libext2fs's own allocator serves the program, and the user has been told */
	struct ext2mb *mb;  /* NULL: not attached */
	struct ext2mb_worker *worker;
	ext2_ino_t given;  /* returned last by ext2fs_new_inode() and not yet marked by the program; 0: none */
	bool is_directory; /* whether `given` was asked for one */
	struct handle *next;
};

/* Returns NULL for a filesystem that is not in the list. The handle stays until handle_remove(); a filesystem belongs
 * to one thread at a time. */
struct handle *handle_of(ext2_filsys fs);

/* Returns NULL without memory. */
struct handle *handle_add(ext2_filsys fs);

/* Called after handle_detach(). NULL is allowed. */
void handle_remove(struct handle *handle);

/* Attaches the allocator once the filesystem has bitmaps and, if it is new, tables. On failure says why, once. */
void handle_attach(struct handle *handle);

/* The program has closed the file for which it allocated last: the next file may begin after it. */
void handles_end_newest_file(void);

/* From here on libext2fs's own allocator serves the program. Does nothing if it did before. */
void handle_detach(struct handle *handle);

/*
 * Begin and end a step on all journalled filesystems. A failure is reported, and nothing more can be written to that
 * filesystem. For debugfs a refused command is undone instead, with everything since the last commit, and debugfs
 * goes on: a command that may be refused begins after a commit and ends with one.
 */
void handles_begin(void);
void handles_end(void);

/* Write what libext2fs keeps in memory into the transactions, and commit these. Not called within a step. */
errcode_t handles_commit(void);
errcode_t handle_commit(struct handle *handle);

/* Does one of them have its journal in this inode? */
bool handles_have_journal_in(ext2_ino_t ino);

/* Begins the running step on a filesystem that was opened within it. */
void handle_begin(struct handle *handle);
