/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/folder_look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/host/open_below.h"
#include "source/host/output_folders.h"
#include "support/run/interrupt.h"
#include "support/vector.h"

#define ENTRIES_BYTES ((size_t)64 << 10)

struct look_directory {
	size_t name_at;
	uint32_t parent;
	uint8_t name_bytes;
	bool has_outputs, was_looked_at;
	uint64_t key, inode, device;
};

struct look {
	const char *path;
	const struct scan_options *options;
	int root;
	/* A stack: below a directory are its ancestors, and those of their entries that are still to be looked at. */
	struct look_directory *directories;
	size_t count, capacity;
	char *names; /* of these, in their order; a NUL byte ends each */
	size_t names_bytes, names_capacity;
	struct descender descender;
	struct output_folders outputs;
	struct folder_sum *sum;
	char *entries; /* for getdents64() */
};

static struct ascent step(const void *tree, uint32_t number)
{
	const struct look *look = tree;
	const struct look_directory *directory = &look->directories[number];

	return (struct ascent){ look->names + directory->name_at, directory->name_bytes, directory->parent };
}

static errcode_t fail(const struct look *look, uint32_t number, const char *name, errcode_t error,
                      struct problem *problem)
{
	SCOPE_FREE char *path = path_text(look->path, step, look, number, name);

	return problem_set(problem, error, path, "cannot examine");
}

static errcode_t add_directory(struct look *look, uint32_t parent, const char *name, const struct stat *status)
{
	size_t bytes = strlen(name);
	uint64_t parent_key = look->count ? look->directories[parent].key : 0;
	const struct look_directory directory = {
		.name_at = look->names_bytes,
		.name_bytes = (uint8_t)bytes,
		.parent = parent,
		.has_outputs = output_folders_have(&look->outputs, status->st_ino, status->st_dev),
		.key = look->count ? folder_sum_key(parent_key, name, bytes) : 0,
		.inode = status->st_ino,
		.device = status->st_dev,
	};

	if (look->count >= UINT32_MAX)
		return EOVERFLOW;
	errcode_t error = vector_reserve(&look->names, &look->names_capacity, look->names_bytes + bytes + 1, 1);

	if (error)
		return error;
	memcpy(look->names + look->names_bytes, name, bytes + 1);
	look->names_bytes += bytes + 1;
	return vector_add(&look->directories, &look->count, &look->capacity, &directory, sizeof(directory));
}

static void remove_last_directory(struct look *look)
{
	look->names_bytes = look->directories[--look->count].name_at;
	descender_forget(&look->descender, (uint32_t)look->count);
}

/* Is the entry left out by its name? One that is, whatever its type, may be one that cannot even be examined. */
static bool is_excluded(const struct look *look, const char *path, bool is_directory)
{
	return path && exclude_matches(look->options->exclude, path, is_directory);
}

static errcode_t look_at(struct look *look, uint32_t number, int descriptor, const char *name, const char *path)
{
	const struct look_directory directory = look->directories[number];
	struct stat status;

	if (is_excluded(look, path, false) && is_excluded(look, path, true))
		return 0;
	if (fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW))
		return errno;
	if (output_is_left_out(look->options, directory.has_outputs, name, &status) ||
	    is_excluded(look, path, S_ISDIR(status.st_mode)))
		return 0;
	folder_sum_add(look->sum, directory.key, name, strlen(name), &status,
	               S_ISDIR(status.st_mode) && output_folders_have(&look->outputs, status.st_ino, status.st_dev));
	return S_ISDIR(status.st_mode) ? add_directory(look, number, name, &status) : 0;
}

static errcode_t look_at_entries(struct look *look, uint32_t number, int descriptor, const char *folder, size_t bytes,
                                 struct problem *problem)
{
	for (size_t at = 0; at < bytes;) {
		const struct dirent64 *entry = (const struct dirent64 *)(look->entries + at);
		SCOPE_FREE char *path = NULL;

		at += entry->d_reclen;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		/* Patterns have no slash at their beginning. */
		if (look->options->exclude && asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
			return problem_set(problem, ENOMEM, look->path, "cannot examine");
		errcode_t error = look_at(look, number, descriptor, entry->d_name, path ? path + 1 : NULL);

		if (error)
			return fail(look, number, entry->d_name, error, problem);
	}
	return 0;
}

/* Only mounts can make such a loop. */
static bool is_own_ancestor(const struct look *look, uint32_t number)
{
	const struct look_directory *own = &look->directories[number];

	while (number) {
		number = look->directories[number].parent;
		if (look->directories[number].inode == own->inode && look->directories[number].device == own->device)
			return true;
	}
	return false;
}

static errcode_t look_at_directory(struct look *look, uint32_t number, struct problem *problem)
{
	SCOPE_FREE char *folder = look->options->exclude ? path_text("", step, look, number, NULL) : NULL;
	SCOPE_CLOSE int descriptor = -1;
	ssize_t got;

	if (look->options->exclude && !folder)
		return problem_set(problem, ENOMEM, look->path, "cannot examine");
	errcode_t error = is_own_ancestor(look, number) ? ELOOP : descender_open(&look->descender, number, &descriptor);

	if (error)
		return fail(look, number, NULL, error, problem);
	while ((got = getdents64(descriptor, look->entries, ENTRIES_BYTES)) > 0) {
		if (interrupt_pending())
			return problem_set(problem, EINTR, NULL, "stopped");
		error = look_at_entries(look, number, descriptor, folder, (size_t)got, problem);
		if (error)
			return error;
	}
	return got < 0 ? fail(look, number, NULL, errno, problem) : 0;
}

static errcode_t look_below(struct look *look, struct problem *problem)
{
	struct stat status;
	errcode_t error = fstat(look->root, &status) ? errno : output_folders_find(look->options, &look->outputs);

	if (!error)
		error = add_directory(look, 0, "", &status);
	if (!error && !(look->entries = malloc(ENTRIES_BYTES)))
		error = ENOMEM;
	if (error)
		return problem_set(problem, error, look->path, "cannot examine");
	folder_sum_add(look->sum, 0, "", 0, &status, look->directories[0].has_outputs);
	while (!error && look->count) {
		struct look_directory *last = &look->directories[look->count - 1];

		if (last->was_looked_at || (look->options->one_file_system && last->device != status.st_dev)) {
			remove_last_directory(look);
			continue;
		}
		last->was_looked_at = true;
		error = look_at_directory(look, (uint32_t)look->count - 1, problem);
	}
	return error;
}

errcode_t folder_look(const char *path, const struct scan_options *options, struct folder_sum *sum,
                      struct problem *problem)
{
	struct look look = { .path = path, .options = options, .sum = sum };
	SCOPE_CLOSE int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return problem_set(problem, errno, path, "cannot open directory");
	look.root = root;
	descender_init(&look.descender, root, step, &look);
	errcode_t error = look_below(&look, problem);

	descender_destroy(&look.descender);
	free(look.names);
	free(look.outputs.list);
	free(look.directories);
	free(look.entries);
	return error;
}
