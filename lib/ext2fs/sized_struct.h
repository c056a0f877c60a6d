/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Structures of the interface begin with their own size, and so can grow at their end: a program and a library of
 * different versions understand each other as far as possible. The rules are those of Linux's copy_struct_from_user()
 * and copy_struct_to_user().
 */
#pragma once

#include <assert.h>
#include <stddef.h>

#include "support/problem.h"

#define SIZED_STRUCT_MOST_BYTES 4096 /* nothing longer is one of ours */

/* The smallest size that a caller may state: the structure's first version ended with this member. */
#define SIZED_STRUCT_LEAST(type, last_member) (offsetof(type, last_member) + sizeof(((type *)0)->last_member))

/* A member added later would begin in padding, which older callers have not set to zero. */
#define SIZED_STRUCT_HAS_NO_PADDING(type, last_member)                                                                 \
	static_assert(sizeof(type) == SIZED_STRUCT_LEAST(type, last_member),                                           \
	              "a structure of the interface ends in padding")

/* The slow half of sized_struct_read(): any size but our own. */
const void *sized_struct_adapt(const void *callers, void *copy, size_t copy_bytes, size_t least_bytes,
                               errcode_t *error);

/*
 * Returns the caller's structure in this version: itself if the sizes agree or only zeros follow the known members,
 * else `copy`, filled up with zeros. copy_bytes is our own size. On failure returns NULL and sets *error:
 * EXT2MB_ET_BAD_ARGUMENT if it is shorter than any version was, else EXT2MB_ET_UNKNOWN_FIELD.
 */
static inline const void *sized_struct_read(const void *callers, void *copy, size_t copy_bytes, size_t least_bytes,
                                            errcode_t *error)
{
	if (*(const size_t *)callers == copy_bytes)
		return callers;
	return sized_struct_adapt(callers, copy, copy_bytes, least_bytes, error);
}

/* Checks that results can be written to a structure of the caller's. EXT2MB_ET_BAD_ARGUMENT. */
MUST_CHECK errcode_t sized_struct_is_writable(const void *callers, size_t least_bytes);

/* Copies results, as many as the caller has room for; members that this version does not know become zero. The
 * caller's size stays. */
void sized_struct_write(void *callers, const void *ours, size_t our_bytes);
