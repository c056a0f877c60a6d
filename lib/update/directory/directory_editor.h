/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes an existing directory name by name, as the kernel would: a name costs its leaf, and a leaf that is full is
 * split. Only the blocks on the way to a name are read. Changes stay in memory until directory_editor_flush(), which
 * writes the changed blocks; then the caller writes the inode.
 *
 * Linear, indexed and inline directories. Without room, inline data becomes a block, and a single block becomes an
 * index with leaves if the filesystem has dir_index. Removed names leave their room to others; no block is given back.
 *
 * Equal directories and calls give equal bytes. An editor is one thread's; editors of different directories may run at
 * the same time if the sink and the allocator permit it.
 */
#pragma once

#include "image/sink.h"
#include "ondisk/directory.h"
#include "ondisk/file_map.h"
#include "ondisk/views.h"

struct directory_editor;

/* A directory's inode, and where its blocks are read, written and taken from. */
struct directory_editor_options {
	struct sink *sink; /* borrowed, as is the format */
	const struct ondisk_format *format;
	uint32_t inode_count; /* of the filesystem: larger numbers in entries are damage */

	uint32_t ino, generation, flags; /* of the inode */
	uint64_t size_bytes;

	/* Its map, ascending: copied. The caller has checked that the blocks exist and are no one else's. */
	const struct file_extent *extents;
	size_t extent_count;

	/*
	 * With EXT4_INLINE_DATA_FL: i_block and the value of system.data in one piece, which is copied; and the most
	 * that it may become, 60 and up, with the inode's other xattrs where they are.
	 */
	const void *inline_data;
	uint32_t inline_bytes, inline_room_bytes;

	/*
	 * Takes up to count free blocks for the directory's logical blocks from `logical` on, in one run near goal:
	 * *got of them, 1 to count, from *start on. With bigalloc logical and *start begin a cluster, and the run's
	 * last cluster is the directory's as a whole: the editor goes on in it before it asks again. Called by
	 * directory_editor_flush() alone. ENOSPC and others.
	 */
	errcode_t (*allocate)(void *context, uint32_t logical, uint64_t goal, uint32_t count, uint64_t *start,
	                      uint32_t *got);
	void *context;
	uint64_t goal; /* for the first block of a directory that had none */
};

/*
 * Reads the index's root, if there is one, and no other block. Errors: EOPNOTSUPP (an encrypted directory);
 * EXT2_ET_DIR_CORRUPTED (a map with holes or of another size, a damaged root); EXT2_ET_DIR_CSUM_INVALID;
 * EXT2_ET_DIRHASH_UNSUPP (the index's hash version); EINVAL (inline_room_bytes is less than inline_bytes); ENOMEM;
 * those of reading.
 */
MUST_CHECK errcode_t directory_editor_open(const struct directory_editor_options *options,
                                           struct directory_editor **ret);

/* Forgets what was not flushed. NULL is allowed. */
void directory_editor_close(struct directory_editor *editor);

/*
 * All functions below: names are 1 to 255 bytes without '/' and NUL, and neither "." nor ".."; else EINVAL.
 * EXT2_ET_DIR_CORRUPTED and EXT2_ET_DIR_CSUM_INVALID for damaged blocks. After an error other than EEXIST, ENOENT,
 * EINVAL, EILSEQ and EFBIG, which change nothing, the editor refuses everything else with the same error.
 *
 * Casefolded directories (EXT4_CASEFOLD_FL) find a name whatever its case; the entry shows it as it is stored.
 */

/* ENOENT. entry->name is valid until the next call. */
MUST_CHECK errcode_t directory_editor_find(struct directory_editor *editor, struct directory_name name,
                                           struct directory_entry *entry);

/*
 * EEXIST; EFBIG (the index is full, or the directory would exceed 2 GiB without large_dir); EILSEQ (a name that is
 * not valid in the encoding of a casefolded directory).
 */
MUST_CHECK errcode_t directory_editor_add(struct directory_editor *editor, struct directory_name name,
                                          struct directory_target target);

/* The name gets another inode; a casefolded name keeps its case. ENOENT. */
MUST_CHECK errcode_t directory_editor_replace(struct directory_editor *editor, struct directory_name name,
                                              struct directory_target target);

/* ENOENT. */
MUST_CHECK errcode_t directory_editor_remove(struct directory_editor *editor, struct directory_name name);

/* The inode of "..". */
MUST_CHECK errcode_t directory_editor_parent(struct directory_editor *editor, uint32_t *ino);
MUST_CHECK errcode_t directory_editor_set_parent(struct directory_editor *editor, uint32_t ino);

/* The number of blocks that directory_editor_flush() would write and take, so far. */
struct directory_editor_cost {
	uint32_t written_blocks; /* new ones included */
	uint32_t new_blocks;
};

struct directory_editor_cost directory_editor_cost(const struct directory_editor *editor);

/* The fields of the inode after a flush. */
struct directory_state {
	bool is_changed;     /* any of the following differs from what directory_editor_open() was given */
	bool is_map_changed; /* extents do */
	uint32_t flags;      /* EXT2_INDEX_FL, EXT4_INLINE_DATA_FL and EXT4_EXTENTS_FL may have changed */
	uint64_t size_bytes;
	const struct file_extent *extents; /* valid until the next flush or close */
	size_t extent_count;
	const void *inline_data; /* with EXT4_INLINE_DATA_FL; valid until the next call */
	uint32_t inline_bytes;
};

/*
 * Takes blocks for new ones, and only then writes all that have changed, with their checksums, in the order of the
 * directory. An error of allocate() has nothing written, and the map as it was: the caller gives back what allocate()
 * took meanwhile. The editor can go on after a flush.
 */
MUST_CHECK errcode_t directory_editor_flush(struct directory_editor *editor, struct directory_state *state);
