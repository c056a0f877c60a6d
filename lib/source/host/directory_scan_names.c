/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listing a directory: its names, sorted. */
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "source/tree/file_flags.h"
#include "source/host/directory_scan.h"
#include "support/run/interrupt.h"
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

/* Sorts the names and makes nodes of them; a name that the host gives twice is one entry. */
static errcode_t make_children(struct scan_worker *worker, struct scan_directory *directory, size_t count)
{
	if (!count)
		return 0;
	qsort_r(worker->names, count, sizeof(*worker->names), compare_names, worker->listing);
	directory->children = arena_alloc(&worker->children, count * sizeof(*directory->children));
	if (!directory->children)
		return ENOMEM;
	memset(directory->children, 0, count * sizeof(*directory->children));
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

/*
 * A loop can only be made with mounts. Climbing costs nothing next to opening: the path to open was made in the
 * same way.
 */
static bool is_own_ancestor(const struct scan *scan, uint32_t number)
{
	const struct scan_directory *directory = &scan->directories[number];

	while (number != ASCEND_ROOT) {
		number = scan->directories[number].parent;
		if (scan->directories[number].inode == directory->inode &&
		    scan->directories[number].device == directory->device)
			return true;
	}
	return false;
}

/* Its node is its parent's, whose entries have been examined; no other worker looks at this one now. */
static void read_flags(struct scan *scan, const struct scan_directory *directory, int descriptor)
{
	bool is_root = directory == &scan->directories[ASCEND_ROOT];
	struct tree_node *node =
		is_root ? &scan->root_node : &scan->directories[directory->parent].children[directory->position];

	if (!scan->options->without_flags)
		node->flags = file_flags_read(descriptor);
	node->has_flags = true;
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
	if (scan->options->one_file_system && directory->device != scan->directories[ASCEND_ROOT].device)
		return 0;
	if (is_own_ancestor(scan, number)) {
		SCOPE_FREE char *path = scan_path(scan, number);

		return problem_set_reason(problem, ELOOP, path, "cannot read directory",
		                          "it is one of its own parent directories (a loop of mounts)");
	}
	errcode_t error = descender_open(&worker->descender, number, &descriptor);

	if (error)
		return scan_problem(scan, number, NULL, error, "cannot open directory", problem);
	read_flags(scan, directory, descriptor);
	error = read_names(worker, descriptor, &count);
	if (!error)
		error = make_children(worker, directory, count);
	if (error)
		return scan_problem(scan, number, NULL, error, "cannot read directory", problem);
	if (directory->child_count > SCAN_CHUNK)
		return 0;
	return scan_examine(scan, worker_number, number, descriptor, 0, directory->child_count, problem);
}
