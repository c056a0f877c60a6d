/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What says that a file is an image of a disk: its first bytes. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <ext2fs/ext2_fs.h>

enum disk_form {
	DISK_NONE, /* or it has partitions */
	DISK_FILESYSTEM,
	DISK_QCOW2,
	DISK_ANDROID_SPARSE,
};

/* At the beginning: of all that tells, but for a table of partitions. */
#define DISK_FORM_BYTES 2048

/* bytes: as many of the beginning as are at hand. The filesystem's own superblock counts before any other magic number,
 * since a boot block may begin with any bytes. A filesystem may be cut off. */
enum disk_form disk_form_of(const uint8_t *bytes, size_t count);

/* With its article, for messages. */
const char *disk_form_name(enum disk_form form);

/* How large the filesystem is, by its superblock as it lies on the disk; 0: that is no superblock. */
uint64_t disk_form_filesystem_bytes(const struct ext2_super_block *raw);
