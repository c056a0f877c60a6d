/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a name or a loop device stands for a certain file. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/* status: of the file. Any thread; false too where there is nothing of this name. */
bool is_same_file(const char *path, const struct stat *status);

/* status: of a regular file. Any thread; false too where sysfs cannot be read. */
bool loop_device_has_open(const struct stat *status);

/* device: of a block device, a loop device or a partition of one. False as above. */
bool loop_device_is_backed_by(const struct stat *device, const struct stat *status);
