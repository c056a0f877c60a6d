/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/io/same_file.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "support/cleanup.h"

bool is_same_file(const char *path, const struct stat *status)
{
	struct stat other;

	return stat(path, &other) == 0 && other.st_dev == status->st_dev && other.st_ino == status->st_ino;
}

/* backing is a file in sysfs whose only line is the name of a file. */
static bool names_file(const char *backing, const struct stat *status)
{
	SCOPE_FREE char *line = NULL;
	size_t size = 0;
	SCOPE_FCLOSE FILE *file = fopen(backing, "re");

	if (!file || getline(&line, &size, file) <= 0)
		return false;
	line[strcspn(line, "\n")] = '\0';
	return is_same_file(line, status);
}

bool loop_device_is_backed_by(const struct stat *device, const struct stat *status)
{
	/* A partition's parent folder is the loop device's. */
	static const char *const forms[] = { "/sys/dev/block/%u:%u/loop/backing_file",
		                             "/sys/dev/block/%u:%u/../loop/backing_file" };
	char backing[sizeof("/sys/dev/block/4294967295:4294967295/../loop/backing_file")];

	for (size_t form = 0; form < sizeof(forms) / sizeof(*forms); form++) {
		snprintf(backing, sizeof(backing), forms[form], major(device->st_rdev), minor(device->st_rdev));
		if (names_file(backing, status))
			return true;
	}
	return false;
}

bool loop_device_has_open(const struct stat *status)
{
	char backing[sizeof("/sys/block//loop/backing_file") + NAME_MAX];
	const struct dirent *entry;
	/* glob(3) would be simpler, but frees twice when it lacks memory (glibc 2.36). */
	SCOPE_CLOSEDIR DIR *devices = opendir("/sys/block");

	while (devices && (entry = readdir(devices))) {
		snprintf(backing, sizeof(backing), "/sys/block/%s/loop/backing_file", entry->d_name);
		if (strncmp(entry->d_name, "loop", 4) == 0 && names_file(backing, status))
			return true;
	}
	return false;
}

bool is_same_storage(const char *path, const char *other)
{
	struct stat there, here;

	if (stat(path, &there) || stat(other, &here))
		return false;
	if (S_ISBLK(there.st_mode) && S_ISBLK(here.st_mode))
		return there.st_rdev == here.st_rdev;
	if (S_ISBLK(there.st_mode))
		return loop_device_is_backed_by(&there, &here);
	if (S_ISBLK(here.st_mode))
		return loop_device_is_backed_by(&here, &there);
	return there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
}

bool would_be_same_file(const char *path, const char *other)
{
	const char *slash = strrchr(path, '/'), *other_slash = strrchr(other, '/');
	struct stat status;

	if (stat(path, &status) == 0)
		return is_same_file(other, &status);
	SCOPE_FREE char *directory = directory_of(path), *other_directory = directory_of(other);

	return directory && other_directory && stat(directory, &status) == 0 &&
	       is_same_file(other_directory, &status) &&
	       !strcmp(slash ? slash + 1 : path, other_slash ? other_slash + 1 : other);
}
