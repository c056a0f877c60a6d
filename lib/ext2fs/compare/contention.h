/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Contention that is pretended, for simulations that must be repeatable: one thread takes turns for many, and groups
 * in which the others are supposed to be at that moment count as busy, although their locks are free. Where a search
 * would wait for a busy group it goes in.
 */
#ifndef EXT2FS_CONTENTION_H
#define EXT2FS_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

struct ext2mb;

struct contention {
	bool (*is_busy)(void *context, uint32_t group);
	void (*has_taken)(void *context, uint32_t group); /* a search took clusters there; under the group's lock */
	void *context;
};

/* NULL: none any more. While no thread allocates; its functions are called by all that do. */
void contention_pretend(struct ext2mb *mb, const struct contention *contention);

#endif
