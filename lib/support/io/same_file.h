/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Does a name or a loop device refer to a certain file? */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/* status is that of the file. Any thread; also false if nothing has this name. */
bool is_same_file(const char *path, const struct stat *status);

/* status is that of a regular file. Any thread; also false if sysfs cannot be read. */
bool loop_device_has_open(const struct stat *status);

/* device is the status of a block device: a loop device or a partition of one. Also false if sysfs cannot be read. */
bool loop_device_is_backed_by(const struct stat *device, const struct stat *status);

/* Are two names those of the same file or device, or is one that of a loop device of the other? Any thread. */
bool is_same_storage(const char *path, const char *other);

/* True if both paths lead to one file, or would if it existed. Also false if memory is short. Any thread. */
bool would_be_same_file(const char *path, const char *other);
