/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file that is being written, as the allocator sees it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ext2fs/core/allocator.h"
#include "ext2fs/core/lock.h"
#include "ext2fs/preallocation/inode_pa.h"
#include "ext2fs/preallocation/preallocation_register.h"

/* One thread at a time uses it. Others only discard its preallocations, for which they need the lock. */
struct ext2mb_file {
	_Alignas(64) struct lock lock;
	struct inode_pas windows;

	struct ext2mb *mb;
	uint64_t blocks;        /* its size */
	uint64_t end;           /* blocks; after it nothing is mapped */
	uint64_t last_logical;  /* where the last allocation ended, in the file */
	uint64_t last_physical; /* and on disk; 0: there was none, or it was truncated */
	struct preallocation_owner owner;
	struct directory *directory; /* of the parent, once it was needed */
	ext2_ino_t ino;
	ext2_ino_t parent;
	bool is_final;
	bool is_registered;
	bool may_have_windows; /* else it has none: the thread that uses it makes them on first use */
};

/* Where a small file's first blocks go, if its locality group has nothing: a position. */
struct small_goal {
	uint64_t position;
	bool is_in_group; /* in its group rather than anywhere near */
};

struct small_file_operations {
	struct small_goal (*goal)(const struct ext2mb_file *file);
};

/* Ours: near the parent, in its directory's share of the group. And the kernel's. */
extern const struct small_file_operations small_files_in_shares;
struct small_goal file_goal_in_flex_group(const struct ext2mb_file *file);

struct file_taken {
	uint64_t position;
	uint32_t count; /* clusters */
};

/* What no preallocation of the file could serve: the request has been checked. EXT2MB_ET_NO_SPACE, ENOMEM. */
MUST_CHECK errcode_t file_search(struct ext2mb_worker *worker, struct ext2mb_file *file,
                                 const struct ext2mb_file_request *request, struct file_taken *taken);

/*
 * Takes up to most clusters from the file's preallocation that holds the logical cluster; none if none does. The file's
 * lock is held. ENOMEM, and nothing is taken.
 */
MUST_CHECK errcode_t file_take_any(struct ext2mb_file *file, uint32_t logical, uint32_t most, struct file_taken *taken);

/* The same, and what a growing file does most is done here. */
static inline MUST_CHECK errcode_t file_take(struct ext2mb_file *file, uint32_t logical, uint32_t most,
                                             struct file_taken *taken)
{
	if (!inode_pa_take_front(&file->windows, logical, most, &taken->position))
		return file_take_any(file, logical, most, taken);
	taken->count = most;
	return 0;
}

/*
 * Clears the bits of what was taken from the front of the file's last preallocation (group_reserved.h). The lock is
 * held.
 */
void file_clear_served(struct ext2mb_file *file);

/* Makes sure that the directory is known, if files of one directory share preallocations. No lock is held. ENOMEM. */
MUST_CHECK errcode_t file_find_directory(struct ext2mb_worker *worker, struct ext2mb_file *file);

/*
 * Whether the file, while it is small, gets its clusters from the worker's preallocations: those of its directory are
 * not to be used, or our own policy has seen that directories come one after the other (directory_visits.h).
 */
bool file_uses_worker_pool(const struct ext2mb_worker *worker, const struct ext2mb_file *file);

/* The pool, or the first of them, that the file has to do with while it is small. */
struct locality_group *file_pool(struct ext2mb_worker *worker, struct ext2mb_file *file);

/* Keeps the count of open preallocations, when one file's has changed. */
static inline void file_count_windows(struct stats *stats, uint32_t before, uint32_t after)
{
	if (after > before)
		stats_add(stats, COUNT_WINDOWS_OPENED, after - before);
	else if (after < before)
		stats_add(stats, COUNT_WINDOWS_CLOSED, before - after);
}
