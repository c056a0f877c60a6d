/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents that lie in one open file, an archive, or have been unpacked from one. If a file's bytes are contiguous
 * there, its number is their offset; otherwise it is the number of a list of pieces.
 */
#pragma once

#include "support/io/file_version.h"
#include "tree/contents.h"

struct unpacked_store;

/* An origin's, from stored_contents_add() on. */
struct stored_origin {
	int descriptor;                  /* owned; for pread(2) from any thread; -1: see below */
	struct unpacked_store *unpacked; /* owned; contents are here, not in the file; NULL: they are not */
	char *file;                      /* owned; the path by which it is opened late; NULL: the origin's path */
	bool is_changeable;              /* the file is the user's, and must stay as it was when it was opened: */
	struct file_version version;
	bool is_opened_late; /* of many layers not all can stay open: readers open the path, while descriptor is -1 */

	struct stored_pieces *lists; /* of files that are in several pieces */
	size_t list_count, list_capacity;
};

/*
 * A further origin of a tree. The descriptor becomes the tree's, also after a failure; -1: there is none, and no
 * contents unless they are unpacked. ENOMEM, errors of fstat(2).
 */
MUST_CHECK errcode_t stored_contents_add(struct tree *tree, const char *path, int descriptor, uint32_t *origin);

/*
 * The same for a file in which all contents begin at multiples of 4 KiB, with zeros from each file's end to the next
 * multiple, and which never changes (source/pack/).
 */
MUST_CHECK errcode_t stored_contents_add_blocks(struct tree *tree, const char *path, int descriptor, uint32_t *origin);

/* Such an origin's data. */
struct stored_origin *stored_contents_of(const struct tree *tree, uint32_t origin);

/*
 * The number of contents in several pieces: each segment of `map`, which stays in the tree's memory, lies where
 * `starts` says, which is from that memory, too. ENOMEM.
 */
MUST_CHECK errcode_t stored_contents_add_pieces(struct stored_origin *origin, const struct tree_data_map *map,
                                                const uint64_t *starts, uint64_t *contents);

/* The origin's file is closed: nothing is read of it any more, or by those that open it late. */
void stored_contents_close(struct stored_origin *origin, bool is_opened_late);

/* Opens a file without waiting for the writer of a pipe: reading waits, and sees signals. -1 with errno. */
int source_file_open_path(const char *path);
