/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents of a tree's regular files, from any source. Each origin of nodes has a table of operations that read its
 * files. A node names its contents by a number that only its origin interprets (tree_contents()). A new kind of origin
 * needs such a table, and a function that adds an origin with it (tree_add_origin()).
 *
 * Threads: each content_reader belongs to one thread, and several readers may read files of one origin at the same
 * time. So an origin's own data do not change after the end of the scan; a reader keeps everything else in its state.
 */
#pragma once

#include "tree/tree.h"

enum content_kind {
	CONTENT_DATA,      /* including holes that the origin does not know of */
	CONTENT_HOLE,      /* reads as zeros, and has no blocks */
	CONTENT_UNWRITTEN, /* reads as zeros, and has blocks */
};

/* A part of a file: data, a hole or unwritten. */
struct content_range {
	uint64_t logical_bytes; /* its offset in the file */
	uint64_t length_bytes;  /* above 0 if logical_bytes is within the file's size */
	enum content_kind kind;
	int descriptor;       /* CONTENT_DATA: a file that holds these bytes contiguously; -1: there is none */
	uint64_t place_bytes; /* the offset of these bytes in that file */
};

/* Contents that fill blocks are aligned to this. */
#define CONTENTS_BLOCK_BYTES 4096u

/* The operations of an origin. Each comment says what NULL means. */
struct contents {
	/* Creates a reader's state for one origin, when the reader opens its first file of that origin. ENOMEM. */
	errcode_t (*create)(const struct tree *tree, uint32_t origin, void **state);
	void (*destroy)(void *state);

	/*
	 * Selects the regular file to read, by the node of its first name. EBUSY with a reason: the file has changed
	 * since the scan.
	 */
	errcode_t (*open)(void *state, uint32_t node, struct problem *problem);

	/*
	 * Reads exactly count bytes of that file, within tree_stored_bytes(); holes are zeros. ENODATA: the file has
	 * become shorter.
	 */
	errcode_t (*read_at)(void *state, void *bytes, size_t count, uint64_t offset_bytes);

	/* Finds the range that begins at an offset within tree_stored_bytes(). */
	void (*map)(const void *state, uint64_t from_bytes, struct content_range *range);

	/* The caller does not read these bytes again: frees their memory. NULL: nothing to free. */
	void (*release)(const void *state, uint64_t offset_bytes, size_t count);

	/* Reads the file's flags (tree/file_flags.h). NULL: the scan has read them. */
	uint32_t (*flags)(void *state);

	/*
	 * Called after everything has been read. EBUSY: the origin has changed meanwhile. NULL: a change does no harm.
	 */
	errcode_t (*check)(const struct tree_origin *origin, struct problem *problem);

	/*
	 * There are many origins: closes the files that it can reopen, and opens them only to read. NULL: it has none
	 * open.
	 */
	void (*open_late)(struct tree_origin *origin);

	/*
	 * Gives contents that are found by the node's place in the tree a number that finds them wherever the node is
	 * moved. NULL: all contents have such a number.
	 */
	errcode_t (*fix)(struct tree *tree, uint32_t node);

	/* Returns the whole path of a node, for messages. The caller frees it; NULL: no memory. */
	char *(*path)(const struct tree *tree, uint32_t node);

	/* Frees what the origin owns. */
	void (*close)(void *data);

	bool begins_in_blocks; /* each file's first byte is at the start of a block of the host's filesystem */
	/*
	 * What follows a file's last byte in its last 4 KiB there is zeros and belongs to no other file, and a file
	 * begins at a multiple of 4 KiB. So a block at a file's end may be shared whole.
	 */
	bool fills_blocks;
};

/* Used by one thread. It opens files as they were scanned: it follows no symlinks and leaves atime unchanged. */
struct content_reader;

/* ENOMEM. The tree must outlive the reader, and its origins must not change. */
MUST_CHECK errcode_t content_reader_create(const struct tree *tree, struct content_reader **ret);
void content_reader_destroy(struct content_reader *reader);

/*
 * Selects the file to read: node is a regular file's first name. EBUSY with a reason: it is no longer a regular file;
 * if it is a directory now, perhaps only reading fails. EINVAL: its origin has no contents.
 */
MUST_CHECK errcode_t content_reader_open(struct content_reader *reader, uint32_t node, struct problem *problem);

/*
 * Reads exactly count bytes of that file from the offset, within tree_stored_bytes(); holes are zeros. ENODATA with a
 * reason: the file has become shorter. EBUSY: it is a directory now. The problem names the file.
 */
MUST_CHECK errcode_t content_reader_read(struct content_reader *reader, void *bytes, size_t count,
                                         uint64_t offset_bytes, struct problem *problem);

/*
 * Returns the range that begins at an offset within tree_stored_bytes(). Its descriptor is valid until the reader opens
 * its next file.
 */
struct content_range content_reader_map(const struct content_reader *reader, uint64_t from_bytes);

/* No thread reads these bytes again. */
void content_reader_release(const struct content_reader *reader, uint64_t offset_bytes, size_t count);

/* The file's flags, if its scan has not read them; else 0. */
uint32_t content_reader_flags(const struct content_reader *reader);

/*
 * To be called after everything has been read. EBUSY: an origin has changed meanwhile. (A host's file that changes is
 * read as it is then; an archive that changes yields other files' bytes.)
 */
MUST_CHECK errcode_t contents_check(const struct tree *tree, struct problem *problem);

/* For contents->open(), read_at() and check(): EBUSY with the reason. */
errcode_t contents_replaced(const char *path, struct problem *problem);
errcode_t contents_changed(const char *path, struct problem *problem);
