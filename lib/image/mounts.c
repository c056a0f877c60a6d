/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/mounts.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "support/cleanup.h"
#include "support/io/same_file.h"

#define MOST_OF_WORDS 3 /* after the dash: type, source, options of the superblock */

static bool read_device(const char *line, dev_t *device)
{
	unsigned int major_number, minor_number;

	/* These are the mount's number, its parent's number and the device. */
	if (sscanf(line, "%*u %*u %u:%u", &major_number, &minor_number) != 2)
		return false;
	*device = makedev(major_number, minor_number);
	return true;
}

static bool is_of(const char *line, const struct stat *status)
{
	struct stat device = { .st_mode = S_IFBLK };

	if (!read_device(line, &device.st_rdev))
		return false;
	return S_ISBLK(status->st_mode) ? device.st_rdev == status->st_rdev : loop_device_is_backed_by(&device, status);
}

/* The superblock's options begin with ro or rw. They are the same wherever it is mounted. */
static bool is_read_only(const char *line)
{
	const char *at = strstr(line, " - ");

	for (int word = 0; at && word < MOST_OF_WORDS; word++)
		at = strchr(at + 1, ' ');
	return at && !strncmp(at, " ro", 3) && strchr(",\n", at[3]);
}

enum mounts mounts_of(const char *path)
{
	SCOPE_FCLOSE FILE *file = fopen("/proc/self/mountinfo", "re");
	SCOPE_FREE char *line = NULL;
	enum mounts found = MOUNTS_NONE;
	struct stat status;
	size_t size = 0;

	if (!file || stat(path, &status) || !(S_ISBLK(status.st_mode) || S_ISREG(status.st_mode)))
		return MOUNTS_NONE;
	while (found != MOUNTS_WRITABLE && getline(&line, &size, file) > 0)
		if (is_of(line, &status))
			found = is_read_only(line) ? MOUNTS_READ_ONLY : MOUNTS_WRITABLE;
	return found;
}

void mounts_type(dev_t device, char type[MOUNT_TYPE_BYTES])
{
	SCOPE_FCLOSE FILE *file = fopen("/proc/self/mountinfo", "re");
	SCOPE_FREE char *line = NULL;
	size_t size = 0;
	dev_t of_line;

	*type = '\0';
	while (file && !*type && getline(&line, &size, file) > 0) {
		const char *after = strstr(line, " - ");

		if (after && read_device(line, &of_line) && of_line == device)
			snprintf(type, MOUNT_TYPE_BYTES, "%.*s", (int)strcspn(after + 3, " "), after + 3);
	}
}
