/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents of a tree's regular files, whatever they come from. An origin of nodes says how they are read, by a table of
 * operations; a node names its contents by a number that means something to its origin alone (tree_contents()). A
 * further kind is a table, and a function that adds an origin with it (tree_add_origin()).
 *
 * Threads: a content_reader is one thread's, and several may read files of one origin at the same time. So an origin's
 * own data do not change from the end of the scan on; what a reader needs beside them is in its state.
 */
#pragma once

#include "tree/tree.h"

enum content_kind {
	CONTENT_DATA,      /* also a hole that the origin does not know of */
	CONTENT_HOLE,      /* reads as zeros, and has no blocks */
	CONTENT_UNWRITTEN, /* reads as zeros, and has blocks */
};

/* A part of a file: data, a hole or unwritten. */
struct content_range {
	uint64_t logical_bytes; /* where it begins in the file */
	uint64_t length_bytes;  /* above 0 within the file's size */
	enum content_kind kind;
	int descriptor;       /* CONTENT_DATA: a file in which these bytes lie side by side; -1: they lie in none */
	uint64_t place_bytes; /* and where they begin there */
};

/* How contents are read. What is NULL cannot be done, as each says. */
struct contents {
	/* Creates a reader's state for the files of one origin, at its first file. ENOMEM. */
	errcode_t (*create)(const struct tree *tree, uint32_t origin, void **state);
	void (*destroy)(void *state);

	/*
	 * Makes a regular file, the first of its names, the one to be read. EBUSY with a reason: it is no longer what
	 * was scanned.
	 */
	errcode_t (*open)(void *state, uint32_t node, struct problem *problem);

	/* Exactly count bytes of that file within its size; holes are zeros. ENODATA: it has become shorter. */
	errcode_t (*read_at)(void *state, void *bytes, size_t count, uint64_t offset_bytes);

	/* What begins at an offset within its size, and how far it goes. */
	void (*map)(const void *state, uint64_t from_bytes, struct content_range *range);

	/* These bytes are not read again: their memory is given up. NULL: contents can be read as often as one likes.
	 */
	void (*release)(const void *state, uint64_t offset_bytes, size_t count);

	/* Flags of that file, which the scan has not read (tree/file_flags.h). NULL: it has. */
	uint32_t (*flags)(void *state);

	/* All has been read: EBUSY if the origin has been changed meanwhile. NULL: that does no harm. */
	errcode_t (*check)(const struct tree_origin *origin, struct problem *problem);

	/* No file stays open between reads, where they can be opened again: there are many origins. NULL: none is. */
	void (*open_late)(struct tree_origin *origin);

	/* Contents that are found by the node's place in the tree get a number that finds them anywhere. NULL: all
	 * have. */
	errcode_t (*fix)(struct tree *tree, uint32_t node);

	/* The whole path of a node, for messages. The caller frees it; NULL: no memory. */
	char *(*path)(const struct tree *tree, uint32_t node);

	/* Frees what the origin owns. */
	void (*close)(void *data);

	bool begins_in_blocks; /* a file's first byte lies where a block of the host's filesystem begins */
};

/* One thread's. Files are opened as they were scanned, without following symlinks, and keep their atime. */
struct content_reader;

/* ENOMEM. The tree must last as long, and its origins stay the same. */
MUST_CHECK errcode_t content_reader_create(const struct tree *tree, struct content_reader **ret);
void content_reader_destroy(struct content_reader *reader);

/*
 * Makes node, a regular file and no further name of one, the file to be read. EBUSY with a reason: it is no longer a
 * regular file; where it is a directory now, reading may be what says so. EINVAL: its origin has no contents.
 */
MUST_CHECK errcode_t content_reader_open(struct content_reader *reader, uint32_t node, struct problem *problem);

/*
 * Exactly count bytes of that file, beginning at offset, within its size; holes are zeros. ENODATA with a reason where
 * it has become shorter, EBUSY where it is a directory now. The problem names the file.
 */
MUST_CHECK errcode_t content_reader_read(struct content_reader *reader, void *bytes, size_t count,
                                         uint64_t offset_bytes, struct problem *problem);

/* What begins at an offset within its size, and how far it goes. The descriptor is good until the next file is opened.
 */
struct content_range content_reader_map(const struct content_reader *reader, uint64_t from_bytes);

/* What this has read there is not read again by anybody. */
void content_reader_release(const struct content_reader *reader, uint64_t offset_bytes, size_t count);

/* The flags of that file, if its origin tells them only now; else 0. */
uint32_t content_reader_flags(const struct content_reader *reader);

/*
 * Once everything has been read: EBUSY if an origin has been changed meanwhile. (A file of the host that changes is
 * read as it is; an archive that changes gives a file other files' bytes.)
 */
MUST_CHECK errcode_t contents_check(const struct tree *tree, struct problem *problem);

/* For contents->open(), read_at() and check(): EBUSY with the reason. */
errcode_t contents_replaced(const char *path, struct problem *problem);
errcode_t contents_changed(const char *path, struct problem *problem);
