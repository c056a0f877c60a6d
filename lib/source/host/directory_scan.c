/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists a directory. */
#include "source/host/large_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "source/host/entry_names.h"
#include "source/host/host_flags.h"
#include "tree/file_flags.h"
#include "support/run/interrupt.h"
#include "support/seconds.h"

/* Hands on a directory whose first two buffers have been read, and reads the rest of it. */
static errcode_t hand_on(struct scan *scan, struct scan_worker *worker, uint32_t number, int descriptor, size_t first,
                         size_t second)
{
	uint64_t count = 0, told = 0;
	errcode_t error = large_directory_add(scan->large, number, worker->entries, first, &count);
	ssize_t got = (ssize_t)second;
	char *entries = worker->entries + SCAN_ENTRIES_BYTES;

	for (; !error && got > 0; got = getdents64(descriptor, entries, SCAN_ENTRIES_BYTES)) {
		error = large_directory_add(scan->large, number, entries, (size_t)got, &count);
		progress_find(scan->options->progress, &(struct found){ .names = count - told });
		told = count;
		if (!error && interrupt_pending())
			return EINTR;
		large_directories_relieve(scan->large, (unsigned int)(worker - scan->workers));
	}
	return error || got == 0 ? error : errno;
}

/*
 * Reads the names with getdents64(): opendir() would cost two more calls and an allocation a directory. With
 * scan->large, the names of the first call are kept until the second call has told whether there are more. If there
 * are, all names are handed on and *ret stays 0.
 */
static errcode_t read_names(struct scan *scan, struct scan_worker *worker, uint32_t number, int descriptor, size_t *ret)
{
	char *entries = worker->entries;
	size_t count = 0, used = 0, first = 0;
	ssize_t got;

	*ret = 0;
	while ((got = getdents64(descriptor, entries, SCAN_ENTRIES_BYTES)) > 0) {
		if (first)
			return hand_on(scan, worker, number, descriptor, first, (size_t)got);
		errcode_t error = scan_add_names(worker, entries, (size_t)got, &count, &used);

		if (error)
			return error;
		if (interrupt_pending())
			return EINTR;
		if (scan->large) {
			first = (size_t)got;
			entries += SCAN_ENTRIES_BYTES;
		}
	}
	*ret = count;
	return got < 0 ? errno : 0;
}

static errcode_t make_children(struct scan_worker *worker, struct scan_directory *directory, size_t count)
{
	if (!count)
		return 0;
	directory->children = children_chunk_next(worker, count * sizeof(*directory->children), &directory->chunk);
	if (!directory->children)
		return ENOMEM;
	return scan_make_entries(worker, count, directory->children, &directory->child_count);
}

static bool has_same_device(const struct scan_entry *one, const struct scan_entry *other)
{
	return one->directory.device == other->directory.device;
}

/*
 * True if the directory is one of its own ancestors; only mounts can make such a loop. Climbing costs nothing next to
 * opening, since the path to open was made in the same way.
 */
static bool is_own_ancestor(const struct scan *scan, uint32_t number)
{
	const struct scan_entry *entry = scan->directories[number].entry;

	while (number != ASCEND_ROOT) {
		number = scan->directories[number].parent;
		if (scan->directories[number].entry->directory.inode == entry->directory.inode &&
		    has_same_device(scan->directories[number].entry, entry))
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
	 * Only directories are compared: a file's device is not always that of the directory that it is in (overlayfs).
	 */
	if (scan->options->one_file_system && !has_same_device(directory->entry, &scan->root_entry))
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
	/*
	 * The parent's entries have been examined, and this directory's entry is one of them, so no other worker uses
	 * the entry now.
	 */
	uint32_t flags = 0;

	if (!scan->options->without_flags && file_flags_read(descriptor, &flags))
		return scan_problem(scan, number, NULL, EIO, "cannot read its file flags", problem);
	/* The entry keeps the flag that says that its project is inherited. */
	directory->entry->node.flags |= flags;
	directory->entry->node.has_flags = true;
	error = read_names(scan, worker, number, descriptor, &count);
	/*
	 * A large directory takes longer without being slow, and is shared out anyway. count is 0 if its names were
	 * handed on.
	 */
	directory->is_slow = count && count <= SCAN_CHUNK && seconds_of(CLOCK_MONOTONIC) - begin > SCAN_SLOW_SECONDS;
	if (!error)
		error = make_children(worker, directory, count);
	if (error)
		return scan_problem(scan, number, NULL, error, "cannot read directory", problem);
	progress_find(scan->options->progress, &(struct found){ .names = directory->child_count, .listed = 1 });
	if (directory->child_count > scan_chunk(directory))
		return 0;
	return scan_examine(scan, worker_number, number, descriptor, directory->children, directory->child_count,
	                    problem);
}
