/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory for many small objects that are freed together (names, link targets): an allocation advances a pointer. */
#pragma once

#include <stddef.h>

#include "support/cleanup.h"

struct arena_chunk;

/* Zero-initialise: `struct arena arena = {0};`. Owned by one thread at a time. */
struct arena {
	struct arena_chunk *chunks;
	size_t used_bytes; /* in the newest chunk */
};

/* size bytes aligned for any object, not cleared; NULL when out of memory. */
void *arena_alloc(struct arena *arena, size_t size_bytes);

/* A NUL-terminated copy of length bytes (which may hold any bytes), unaligned; NULL when out of memory. */
char *arena_copy_string(struct arena *arena, const char *bytes, size_t length);

/* Moves all of from's memory into to; pointers stay valid; from is empty afterwards. */
void arena_join(struct arena *to, struct arena *from);

/* Frees everything allocated from it. */
void arena_destroy(struct arena *arena);
