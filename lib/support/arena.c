/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

/* Small first, since every worker has one; then doubling, so that a million names are a few dozen chunks. */
#define FIRST_CHUNK_BYTES ((size_t)64 << 10)
#define LARGEST_CHUNK_BYTES ((size_t)1 << 20)

struct arena_chunk {
	struct arena_chunk *older;
	size_t size_bytes;
	alignas(max_align_t) char bytes[];
};

static struct arena_chunk *new_chunk(size_t size_bytes)
{
	struct arena_chunk *chunk;

	if (size_bytes > PTRDIFF_MAX - sizeof(*chunk))
		return NULL;
	chunk = malloc(sizeof(*chunk) + size_bytes);
	if (chunk)
		chunk->size_bytes = size_bytes;
	return chunk;
}

/* A large object gets a chunk of its own, after the newest one, whose remaining room stays in use. */
static void *allocate_apart(struct arena *arena, size_t size_bytes)
{
	struct arena_chunk *newest = arena->chunks;
	struct arena_chunk *chunk = new_chunk(size_bytes);

	if (!chunk)
		return NULL;
	chunk->older = newest ? newest->older : NULL;
	if (newest) {
		newest->older = chunk;
	} else {
		arena->chunks = chunk;
		arena->used_bytes = size_bytes;
	}
	return chunk->bytes;
}

static void *allocate(struct arena *arena, size_t size_bytes, size_t alignment)
{
	struct arena_chunk *newest = arena->chunks;
	size_t start = (arena->used_bytes + alignment - 1) & ~(alignment - 1);
	size_t chunk_bytes = FIRST_CHUNK_BYTES;

	if (newest && start <= newest->size_bytes && size_bytes <= newest->size_bytes - start) {
		arena->used_bytes = start + size_bytes;
		return newest->bytes + start;
	}
	if (size_bytes > FIRST_CHUNK_BYTES / 4)
		return allocate_apart(arena, size_bytes);

	while (newest && chunk_bytes <= newest->size_bytes && chunk_bytes < LARGEST_CHUNK_BYTES)
		chunk_bytes *= 2;
	struct arena_chunk *chunk = new_chunk(chunk_bytes);
	if (!chunk)
		return NULL;
	chunk->older = newest;
	arena->chunks = chunk;
	arena->used_bytes = size_bytes;
	return chunk->bytes;
}

void *arena_alloc(struct arena *arena, size_t size_bytes)
{
	return allocate(arena, size_bytes, alignof(max_align_t));
}

char *arena_copy_string(struct arena *arena, const char *bytes, size_t length)
{
	char *copy = length < PTRDIFF_MAX ? allocate(arena, length + 1, 1) : NULL;

	if (!copy)
		return NULL;
	memcpy(copy, bytes, length);
	copy[length] = '\0';
	return copy;
}

void arena_join(struct arena *to, struct arena *from)
{
	struct arena_chunk **tail = &to->chunks;

	if (!from->chunks || to == from)
		return;
	if (!to->chunks)
		to->used_bytes = from->used_bytes;
	/* from's chunks go after to's own, so that `to` goes on filling its newest one. */
	while (*tail)
		tail = &(*tail)->older;
	*tail = from->chunks;
	*from = (struct arena){ 0 };
}

void arena_destroy(struct arena *arena)
{
	struct arena_chunk *chunk = arena->chunks;

	while (chunk) {
		struct arena_chunk *older = chunk->older;

		free(chunk);
		chunk = older;
	}
	*arena = (struct arena){ 0 };
}
