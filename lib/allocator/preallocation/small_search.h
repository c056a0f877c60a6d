/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Allocation for small files: each gets a part of a preallocation that it shares with others. */
#pragma once

#include "allocator/preallocation/file_need.h"

/* Whether the file may share preallocations with others: its size, as far as known, is within small_file_blocks. */
bool small_search_suits(const struct file_need *need);

/* Whether the file uses this locality group. need's hole is set. */
bool small_search_joins(const struct file_need *need, const struct locality_group *pool);

/* A hint that another thread may change: need->begins_with_slice is what counts. */
bool small_search_begins_with_slice(const struct file_need *need);

/* Whether so many of the worker's files are held open with what is left of the slices that they began with. A hint. */
bool small_search_holds_slices(const struct file_need *need, uint32_t least);

/* The file has begun with a preallocation of the worker's that counts like a slice until it is closed. */
void small_search_count_slice(const struct file_need *need);

/* Whether the file may get more than the request; the surplus becomes its own preallocation. */
bool small_search_gives_more(const struct file_need *need);

/* The file's lock is held. EXT2MB_ET_NO_SPACE, ENOMEM. */
MUST_CHECK errcode_t small_search(const struct file_need *need, struct preallocation *taken);
