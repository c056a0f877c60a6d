/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mounts that are known here, by /proc/self/mountinfo. */
#pragma once

#include <sys/types.h>

#define MOUNT_TYPE_BYTES 64

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

/* Copies the type of the filesystem that has this device number, as "ext4" or "nfs4"; "": it is not known. Any thread.
 */
void mounts_type(dev_t device, char type[MOUNT_TYPE_BYTES]);
