/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Structures of the interface that begin with their own size, and so can grow at their end: a program and a library of
 * different versions understand each other as far as they can. The rules are those of Linux's copy_struct_from_user()
 * and copy_struct_to_user().
 */
#pragma once

#include <assert.h>
#include <stddef.h>

#include "support/problem.h"

#define SIZED_STRUCT_MOST_BYTES 4096 /* what claims to be longer is not one of ours */

/* The least size that a caller may state: the structure's first version ended with this member. */
#define SIZED_STRUCT_LEAST(type, last_member) (offsetof(type, last_member) + sizeof(((type *)0)->last_member))

/* A member added later would begin in padding, which older callers have not set to zero. */
#define SIZED_STRUCT_HAS_NO_PADDING(type, last_member)                                                                 \
	static_assert(sizeof(type) == SIZED_STRUCT_LEAST(type, last_member),                                           \
	              "a structure of the interface ends in padding")

/* The slow half of sized_struct_read(): any size but our own. */
const void *sized_struct_adapt(const void *callers, void *copy, size_t copy_bytes, size_t least_bytes,
                               errcode_t *error);

/*
 * The caller's structure as this version has it: itself if the sizes agree or only zeros follow what we know, else
 * `copy`, filled up with zeros. copy_bytes are our own size. NULL and *error if it cannot be understood:
 * EXT2MB_ET_BAD_ARGUMENT if it is shorter than any version was, or else EXT2MB_ET_UNKNOWN_FIELD.
 */
static inline const void *sized_struct_read(const void *callers, void *copy, size_t copy_bytes, size_t least_bytes,
                                            errcode_t *error)
{
	if (*(const size_t *)callers == copy_bytes)
		return callers;
	return sized_struct_adapt(callers, copy, copy_bytes, least_bytes, error);
}

/* Whether results can go to a structure of the caller's. EXT2MB_ET_BAD_ARGUMENT. */
MUST_CHECK errcode_t sized_struct_is_writable(const void *callers, size_t least_bytes);

/* Results, as much as the caller has room for; what this version does not know is zero. The caller's size stays. */
void sized_struct_write(void *callers, const void *ours, size_t our_bytes);
