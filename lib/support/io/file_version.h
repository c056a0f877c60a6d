/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is a file that is opened again the same, and unchanged? Its ctime shows changes even if its other times were set
 * back. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

struct file_version {
	dev_t device;
	ino_t inode;
	off_t bytes;
	struct timespec mtime, ctime;
};

static inline struct file_version file_version_of(const struct stat *status)
{
	return (struct file_version){ status->st_dev, status->st_ino, status->st_size, status->st_mtim,
		                      status->st_ctim };
}

static inline bool times_are_equal(struct timespec one, struct timespec other)
{
	return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

static inline bool file_version_is(const struct file_version *version, const struct stat *status)
{
	return version->device == status->st_dev && version->inode == status->st_ino &&
	       version->bytes == status->st_size && times_are_equal(version->mtime, status->st_mtim) &&
	       times_are_equal(version->ctime, status->st_ctim);
}
