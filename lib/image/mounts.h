/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the kernel has a filesystem mounted, as /proc/self/mountinfo tells, and may write to it. */
#pragma once

enum mounts {
	MOUNTS_NONE,      /* that are known here; another mount namespace may have some */
	MOUNTS_READ_ONLY, /* the filesystem itself is, and not only where it is mounted */
	MOUNTS_WRITABLE,
};

/*
 * Looks for mounts of the block device at path, or of loop devices that show the regular file there. MOUNTS_NONE also
 * where /proc cannot be read. Any thread.
 */
enum mounts mounts_of(const char *path);
