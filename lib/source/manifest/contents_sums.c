/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/manifest/contents_sums.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/cleanup.h"
#include "support/vector.h"

/* The path of an open file, without links. The caller frees it; NULL: nobody can say, as without /proc. */
static char *place_of(int descriptor)
{
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(int)], place[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
	ssize_t bytes = readlink(link, place, sizeof(place));

	return bytes > 0 && *place == '/' ? strndup(place, (size_t)bytes) : NULL;
}

static bool lies_below(const char *file, const char *directory)
{
	size_t bytes = strlen(directory);

	return !strncmp(file, directory, bytes) && (bytes == 1 || file[bytes] == '/');
}

/* Takes over the path. */
static errcode_t add_elsewhere(struct contents_sums *sums, char *path, struct folder_sum **sum)
{
	const struct elsewhere found = { .path = path };
	errcode_t error = vector_add(&sums->elsewhere, &sums->count, &sums->capacity, &found, sizeof(found));

	if (error)
		free(path);
	else
		*sum = &sums->elsewhere[sums->count - 1].sum;
	return error;
}

static errcode_t find_sum(struct contents_sums *sums, int directory, int descriptor, struct folder_sum **sum)
{
	SCOPE_FREE char *file = place_of(descriptor), *top = place_of(directory);

	*sum = &sums->below;
	if (!file || !top || lies_below(file, top))
		return 0;
	char *slash = strrchr(file, '/');

	slash[slash == file] = '\0';
	/* From the last one: lines that follow each other often name files of one directory. */
	for (size_t i = sums->count; i-- > 0;)
		if (!strcmp(sums->elsewhere[i].path, file)) {
			*sum = &sums->elsewhere[i].sum;
			return 0;
		}
	return add_elsewhere(sums, TAKE(file), sum);
}

errcode_t contents_sums_add(struct contents_sums *sums, int directory, const char *path, int descriptor,
                            const struct stat *status)
{
	struct folder_sum *sum;
	errcode_t error = find_sum(sums, directory, descriptor, &sum);

	if (!error)
		folder_sum_add(sum, 0, path, strlen(path), status, false);
	return error;
}

errcode_t contents_sums_name(const struct contents_sums *sums, const char *path, struct run_files *files)
{
	errcode_t error = sums->below.names ? run_files_read_folder(files, "manifest", path, &sums->below) : 0;

	for (size_t i = 0; !error && i < sums->count; i++)
		error = run_files_read_folder(files, "manifest", sums->elsewhere[i].path, &sums->elsewhere[i].sum);
	return error;
}

void contents_sums_clear(struct contents_sums *sums)
{
	for (size_t i = 0; i < sums->count; i++)
		free(sums->elsewhere[i].path);
	free(sums->elsewhere);
	*sums = (struct contents_sums){ 0 };
}
