// SPDX-License-Identifier: GPL-2.0-or-later
/* Listing a directory, whose names are sorted. */
#include "source/host/directory_scan.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "source/tree/file_flags.h"
#include "support/run/interrupt.h"
#include "support/seconds.h"
#include "support/vector.h"

static int compare_names(const void *one, const void *other, void *listing)
{
	const struct scan_name *first = one, *second = other;

	if (first->prefix != second->prefix)
		return first->prefix < second->prefix ? -1 : 1;
	/* A shorter name's prefix ends in NUL bytes, so equal prefixes of short names mean equal names. */
	return strcmp((char *)listing + first->start, (char *)listing + second->start);
}

static errcode_t add_name(struct scan_worker *worker, const char *name, size_t count, size_t *used)
{
	size_t bytes = strlen(name);
	uint64_t prefix = 0;

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
	memcpy(&prefix, name, bytes < sizeof(prefix) ? bytes : sizeof(prefix));
	worker->names[count] = (struct scan_name){ be64toh(prefix), (uint32_t)*used, (uint32_t)bytes };
	*used += bytes + 1;
	return 0;
}

/* getdents64() itself: opendir() would cost two more calls and an allocation a directory. */
static errcode_t read_names(struct scan_worker *worker, int descriptor, size_t *ret)
{
	size_t count = 0, used = 0;
	ssize_t got;

	while ((got = getdents64(descriptor, worker->entries, SCAN_ENTRIES_BYTES)) > 0) {
		for (ssize_t at = 0; at < got;) {
			const struct dirent64 *entry = (const struct dirent64 *)(worker->entries + at);

			at += entry->d_reclen;
			if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
				continue;
			errcode_t error = add_name(worker, entry->d_name, count, &used);

			if (error)
				return error;
			count++;
		}
		if (interrupt_pending())
			return EINTR;
	}
	*ret = count;
	return got < 0 ? errno : 0;
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

/* Zeros for a directory's children. Those of a large one have a chunk of their own. */
static errcode_t take_children(struct scan_worker *worker, struct scan_directory *directory, size_t count)
{
	size_t bytes = count * sizeof(*directory->children);
	bool is_large = bytes > CHUNK_BYTES / 4;
	struct children_chunk *chunk = is_large ? NULL : worker->chunk;

	if (!chunk || chunk->size_bytes - chunk->used_bytes < bytes) {
		chunk = make_chunk(is_large ? bytes : CHUNK_BYTES);
		if (!chunk)
			return ENOMEM;
		if (!is_large) {
			children_chunk_release(worker->chunk);
			worker->chunk = chunk;
		}
	}
	if (!is_large)
		__atomic_add_fetch(&chunk->users, 1, __ATOMIC_RELAXED);
	directory->chunk = chunk;
	directory->children = (void *)((char *)chunk + chunk->used_bytes);
	chunk->used_bytes += bytes;
	return 0;
}

/* Sorts the names and makes nodes of them; a name that the host gives twice is one entry. */
static errcode_t make_children(struct scan_worker *worker, struct scan_directory *directory, size_t count)
{
	if (!count)
		return 0;
	qsort_r(worker->names, count, sizeof(*worker->names), compare_names, worker->listing);
	errcode_t error = take_children(worker, directory, count);

	if (error)
		return error;
	for (size_t i = 0; i < count; i++) {
		const struct scan_name *name = &worker->names[i];

		if (i && !compare_names(name - 1, name, worker->listing))
			continue;
		struct tree_node *node = &directory->children[directory->child_count++];

		node->name = arena_copy_string(&worker->memory, worker->listing + name->start, name->bytes);
		node->name_bytes = (uint8_t)name->bytes;
		if (!node->name)
			return ENOMEM;
	}
	return 0;
}

static bool has_same_device(const struct tree_node *one, const struct tree_node *other)
{
	return one->device.major == other->device.major && one->device.minor == other->device.minor;
}

/*
 * A loop can only be made with mounts. Climbing costs nothing next to opening: the path to open was made in the
 * same way.
 */
static bool is_own_ancestor(const struct scan *scan, uint32_t number)
{
	const struct tree_node *node = scan->directories[number].node;

	while (number != ASCEND_ROOT) {
		number = scan->directories[number].parent;
		if (scan->directories[number].node->size_bytes == node->size_bytes &&
		    has_same_device(scan->directories[number].node, node))
			return true;
	}
	return false;
}

errcode_t scan_list(struct scan *scan, unsigned int worker_number, uint32_t number, struct problem *problem)
{
	struct scan_worker *worker = &scan->workers[worker_number];
	struct scan_directory *directory = &scan->directories[number];
	SCOPE_CLOSE int descriptor = -1;
	size_t count = 0;

	if (interrupt_pending())
		return problem_set(problem, EINTR, NULL, "stopped");
	/*
	 * Directories only: what a file says of its device is not always that of the directory that it is in
	 * (overlayfs).
	 */
	if (scan->options->one_file_system && !has_same_device(directory->node, &scan->root_node))
		return 0;
	if (is_own_ancestor(scan, number)) {
		SCOPE_FREE char *path = scan_path(scan, number);

		return problem_set_reason(problem, ELOOP, path, "cannot read directory",
		                          "it is one of its own parent directories (a loop of mounts)");
	}
	double begin = seconds_of(CLOCK_MONOTONIC);
	errcode_t error = descender_open(&worker->descender, number, &descriptor);

	if (error)
		return scan_problem(scan, number, NULL, error, "cannot open directory", problem);
	/* Its parent's entries, of which its node is one, have been examined; no other worker looks at this one now. */
	if (!scan->options->without_flags)
		directory->node->flags = file_flags_read(descriptor);
	directory->node->has_flags = true;
	error = read_names(worker, descriptor, &count);
	/* A large one takes longer without being slow, and is shared out anyway. */
	directory->is_slow = count <= SCAN_CHUNK && seconds_of(CLOCK_MONOTONIC) - begin > SCAN_SLOW_SECONDS;
	if (!error)
		error = make_children(worker, directory, count);
	if (error)
		return scan_problem(scan, number, NULL, error, "cannot read directory", problem);
	progress_find(scan->options->progress, &(struct found){ .names = directory->child_count, .listed = 1 });
	if (directory->child_count > scan_chunk(directory))
		return 0;
	return scan_examine(scan, worker_number, number, descriptor, 0, directory->child_count, problem);
}
