/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The free extents of a filesystem, by their lengths. Each request takes the shortest extent that holds all of it, so
 * that an update fills the holes that earlier versions have left, and long extents stay whole. libext2mb's own search
 * prefers a group with long extents, as the kernel's does, and cuts pieces off them: after 20 updates of 1 % of
 * linux-source's files half of the free space was in extents of at most 1 MiB.
 *
 * Groups are listed in windows of 16, which are a flex group as a rule, so their bitmaps lie together: those around the
 * goals, and further ones if nothing is long enough. So a small update of a large filesystem reads few bitmaps. What is
 * listed is a hint; an extent that others have taken a part of is listed again. One thread.
 */
#pragma once

#include "ext2fs/ext2mb.h"
#include "ondisk/geometry.h"
#include "support/problem.h"

struct listed_extent {
	uint64_t position; /* of its first cluster */
	uint32_t next;     /* 1 + the index of another one of the same length; 0: there is none */
};

struct free_extents {
	struct ext2mb_worker *worker; /* borrowed, as the next two */
	struct ext2mb *mb;
	const struct geometry *geometry;
	uint32_t *first;     /* owned; by length in clusters: 1 + the index of an extent; 0: there is none */
	uint64_t *lengths;   /* owned; a bit for each length with extents */
	uint64_t *is_listed; /* owned; a bit for each window */
	uint32_t windows;
	struct listed_extent *extents; /* owned */
	size_t count, capacity;
};

/* ENOMEM. The caller calls free_extents_close() in any case. */
MUST_CHECK errcode_t free_extents_open(struct free_extents *list, struct ext2mb *mb, struct ext2mb_worker *worker,
                                       const struct geometry *geometry);
void free_extents_close(struct free_extents *list);

/* Everything is listed anew: a commit has made blocks free. */
void free_extents_forget(struct free_extents *list);

/*
 * Allocates up to `count` blocks, whole clusters, in one extent: all of them if any free extent is long enough, else
 * the longest one. If several have the length, the first of the window of `near` is taken, as far as extents are
 * listed yet: equal calls take equal blocks. EXT2MB_ET_NO_SPACE, ENOMEM, errors in reading bitmaps.
 */
MUST_CHECK errcode_t free_extents_take(struct free_extents *list, uint64_t near, uint64_t count,
                                       struct ext2mb_extent *extent);
