/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes an existing directory name by name, as the kernel would: a name costs its leaf, and a full leaf is split. The
 * editor reads only the blocks on the way to a name. It keeps changes in memory until directory_editor_flush(), which
 * writes the changed blocks. Then the caller writes the inode.
 *
 * The editor knows linear, indexed and inline directories. Inline data that have no room become a block. A single block
 * that has no room becomes an index with leaves if the filesystem has dir_index. Removed names leave their room to
 * others; no block is given back.
 *
 * Equal directories and calls give equal bytes. One thread uses an editor. Editors of different directories may run at
 * the same time if the sink and the allocator permit it.
 */
#pragma once

#include "image/sink.h"
#include "ondisk/directory.h"
#include "ondisk/file_map.h"
#include "ondisk/views.h"

struct directory_editor;

/* A directory's inode, and the sink and allocator of its blocks. */
struct directory_editor_options {
	struct sink *sink; /* borrowed, as is the format */
	const struct ondisk_format *format;
	uint32_t inode_count; /* in the filesystem: larger inode numbers in entries are damage */

	uint32_t ino, generation, flags; /* of the inode */
	uint64_t size_bytes;

	/*
	 * The directory's map, in ascending order. The editor copies it. The caller has checked that the blocks exist
	 * and that nothing else owns them.
	 */
	const struct file_extent *extents;
	size_t extent_count;

	/*
	 * With EXT4_INLINE_DATA_FL: i_block and the value of system.data in one piece, which the editor copies.
	 * inline_room_bytes is the most that it may become, at least 60, while the inode's other xattrs stay where they
	 * are.
	 */
	const void *inline_data;
	uint32_t inline_bytes, inline_room_bytes;

	/*
	 * Takes up to count free blocks for the directory's logical blocks from `logical` on, in one run near goal.
	 * *start is the first block, and *got is their number, 1 to count. With bigalloc, logical and *start begin a
	 * cluster, and the run's whole last cluster belongs to the directory: the editor uses its rest before it asks
	 * again. Only directory_editor_flush() calls this. ENOSPC and others.
	 */
	errcode_t (*allocate)(void *context, uint32_t logical, uint64_t goal, uint32_t count, uint64_t *start,
	                      uint32_t *got);
	void *context;
	uint64_t goal; /* for a directory's first block, if it had none */
};

/*
 * Reads the index's root, if there is one, and no other block. Errors: EOPNOTSUPP (an encrypted directory);
 * EXT2_ET_DIR_CORRUPTED (a map with holes or of another size, a damaged root); EXT2_ET_DIR_CSUM_INVALID;
 * EXT2_ET_DIRHASH_UNSUPP (the index's hash version); EINVAL (inline_room_bytes is less than inline_bytes); ENOMEM;
 * errors of reading.
 */
MUST_CHECK errcode_t directory_editor_open(const struct directory_editor_options *options,
                                           struct directory_editor **ret);

/* Closes the editor and drops changes that were not flushed. NULL is allowed. */
void directory_editor_close(struct directory_editor *editor);

/*
 * For all functions below, names have 1 to 255 bytes without '/' and NUL, and are neither "." nor ".."; others give
 * EINVAL. Damaged blocks give EXT2_ET_DIR_CORRUPTED or EXT2_ET_DIR_CSUM_INVALID. EEXIST, ENOENT, EINVAL, EILSEQ and
 * EFBIG change nothing. After any other error the editor refuses every call with the same error.
 *
 * Casefolded directories (EXT4_CASEFOLD_FL) find a name whatever its case; the entry shows it as it is stored.
 */

/* Finds a name. ENOENT. entry->name is valid until the next call. */
MUST_CHECK errcode_t directory_editor_find(struct directory_editor *editor, struct directory_name name,
                                           struct directory_entry *entry);

/*
 * Adds a name. EEXIST; EFBIG (the index is full, or the directory would exceed 2 GiB without large_dir); EILSEQ (a name
 * that is not valid in the encoding of a casefolded directory).
 */
MUST_CHECK errcode_t directory_editor_add(struct directory_editor *editor, struct directory_name name,
                                          struct directory_target target);

/* Gives the name another inode; a casefolded name keeps its case. ENOENT. */
MUST_CHECK errcode_t directory_editor_replace(struct directory_editor *editor, struct directory_name name,
                                              struct directory_target target);

/* Removes a name. ENOENT. */
MUST_CHECK errcode_t directory_editor_remove(struct directory_editor *editor, struct directory_name name);

/* Return and set the inode of "..". */
MUST_CHECK errcode_t directory_editor_parent(struct directory_editor *editor, uint32_t *ino);
MUST_CHECK errcode_t directory_editor_set_parent(struct directory_editor *editor, uint32_t ino);

/* The number of blocks that directory_editor_flush() would write and take now. */
struct directory_editor_cost {
	uint32_t written_blocks; /* new ones included */
	uint32_t new_blocks;
};

struct directory_editor_cost directory_editor_cost(const struct directory_editor *editor);

/* The inode's fields after a flush. */
struct directory_state {
	bool is_changed;     /* a field below differs from the options of directory_editor_open() */
	bool is_map_changed; /* extents do */
	uint32_t flags;      /* EXT2_INDEX_FL, EXT4_INLINE_DATA_FL and EXT4_EXTENTS_FL may have changed */
	uint64_t size_bytes;
	const struct file_extent *extents; /* valid until the next flush or close */
	size_t extent_count;
	const void *inline_data; /* with EXT4_INLINE_DATA_FL; valid until the next call */
	uint32_t inline_bytes;
};

/*
 * Takes places for new blocks, and only then writes all changed blocks, with their checksums, in the directory's order.
 * If allocate() fails, nothing has been written and the map is unchanged: the caller gives back the blocks that
 * allocate() took during the call. The editor can be used after a flush.
 */
MUST_CHECK errcode_t directory_editor_flush(struct directory_editor *editor, struct directory_state *state);
