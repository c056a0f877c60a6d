/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Allocation for small files: each gets a part of a preallocation that it shares with others. */
#pragma once

#include "allocator/preallocation/file_need.h"

/* A file of no more than so many blocks, as far as is known, may share preallocations with others. */
bool small_search_suits(const struct file_need *need);

/* Whether it does so, in this locality group. The hole is known. */
bool small_search_joins(const struct file_need *need, const struct locality_group *pool);

/* Whether the file may get more than the request, which is then a preallocation of its own. */
bool small_search_gives_more(const struct file_need *need);

/* The file's lock is held. EXT2MB_ET_NO_SPACE, ENOMEM. */
MUST_CHECK errcode_t small_search(const struct file_need *need, struct preallocation *taken);
