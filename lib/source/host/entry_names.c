/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/entry_names.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "support/vector.h"

static int compare_names(const void *one, const void *other, void *listing)
{
	const struct scan_name *first = one, *second = other;

	if (first->prefix != second->prefix)
		return first->prefix < second->prefix ? -1 : 1;
	/* A shorter name's prefix ends in NUL bytes, so equal prefixes of short names mean equal names. */
	return strcmp((char *)listing + first->start, (char *)listing + second->start);
}

uint64_t scan_prefix(const char *name, size_t bytes)
{
	uint64_t prefix = 0;

	memcpy(&prefix, name, bytes < sizeof(prefix) ? bytes : sizeof(prefix));
	return be64toh(prefix);
}

static errcode_t add_name(struct scan_worker *worker, const char *name, size_t count, size_t *used)
{
	size_t bytes = strlen(name);

	if (bytes > UINT8_MAX)
		return ENAMETOOLONG;
	if (*used + bytes + 1 > UINT32_MAX || count >= UINT32_MAX)
		return EOVERFLOW;
	errcode_t error = vector_reserve(&worker->listing, &worker->listing_capacity, *used + bytes + 1, 1);

	if (!error)
		error = vector_reserve(&worker->names, &worker->names_capacity, count + 1, sizeof(*worker->names));
	if (error)
		return error;
	memcpy(worker->listing + *used, name, bytes + 1);
	worker->names[count] = (struct scan_name){ scan_prefix(name, bytes), (uint32_t)*used, (uint32_t)bytes };
	*used += bytes + 1;
	return 0;
}

errcode_t scan_add_names(struct scan_worker *worker, const char *entries, size_t bytes, size_t *count, size_t *used)
{
	for (size_t at = 0; at < bytes;) {
		const struct dirent64 *entry = (const struct dirent64 *)(entries + at);

		at += entry->d_reclen;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		errcode_t error = add_name(worker, entry->d_name, *count, used);

		if (error)
			return error;
		++*count;
	}
	return 0;
}

#define CHUNK_BYTES ((size_t)1 << 20)

void children_chunk_release(struct children_chunk *chunk)
{
	if (chunk && __atomic_sub_fetch(&chunk->users, 1, __ATOMIC_ACQ_REL) == 0)
		munmap(chunk, chunk->size_bytes);
}

static struct children_chunk *make_chunk(size_t bytes)
{
	size_t size_bytes = sizeof(struct children_chunk) + bytes;
	struct children_chunk *chunk =
		mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (chunk == MAP_FAILED)
		return NULL;
	*chunk = (struct children_chunk){ .size_bytes = size_bytes, .used_bytes = sizeof(*chunk), .users = 1 };
	return chunk;
}

void *children_chunk_next(struct scan_worker *worker, size_t bytes, struct children_chunk **ret)
{
	bool is_large = bytes > CHUNK_BYTES / 4;
	struct children_chunk *chunk = is_large ? NULL : worker->chunk;

	if (!chunk || chunk->size_bytes - chunk->used_bytes < bytes) {
		chunk = make_chunk(is_large ? bytes : CHUNK_BYTES);
		if (!chunk)
			return NULL;
		if (!is_large) {
			children_chunk_release(worker->chunk);
			worker->chunk = chunk;
		}
	}
	if (!is_large)
		__atomic_add_fetch(&chunk->users, 1, __ATOMIC_RELAXED);
	void *memory = (char *)chunk + chunk->used_bytes;

	chunk->used_bytes += bytes;
	*ret = chunk;
	return memory;
}

errcode_t scan_make_entries(struct scan_worker *worker, size_t count, struct scan_entry *entries, uint32_t *made)
{
	*made = 0;
	qsort_r(worker->names, count, sizeof(*worker->names), compare_names, worker->listing);
	for (size_t i = 0; i < count; i++) {
		const struct scan_name *name = &worker->names[i];

		if (i && !compare_names(name - 1, name, worker->listing))
			continue;
		struct tree_node *node = &entries[(*made)++].node;

		node->name = arena_copy_string(&worker->memory, worker->listing + name->start, name->bytes);
		node->name_bytes = (uint8_t)name->bytes;
		if (!node->name)
			return ENOMEM;
	}
	return 0;
}
