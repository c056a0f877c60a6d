/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which file a loop device has open. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/* status: of a regular file. Any thread; false too where sysfs cannot be read. */
bool loop_device_has_open(const struct stat *status);

/* device: of a block device, a loop device or a partition of one. False as above. */
bool loop_device_is_backed_by(const struct stat *device, const struct stat *status);
