/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An image of a disk that is packed with gzip, zstd or xz, or is a qcow2 image, becomes a raw one: a sparse file
 * without a name in the directory for temporary files, which is TMPDIR's, else /var/tmp. It is gone when it is closed,
 * however the program ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"
#include "support/run/progress.h"

/* How a file can be packed. */
enum raw_image_packing {
	RAW_IMAGE_NOT_PACKED,
	RAW_IMAGE_GZIP,
	RAW_IMAGE_ZSTD,
	RAW_IMAGE_XZ,
	RAW_IMAGE_QCOW2,
};

/* Returns how a file is packed, from its first bytes. Whatever is no regular file, or has ext4's superblock where
 * it belongs, is not packed: a boot block may begin with any bytes. */
enum raw_image_packing raw_image_packing_of(const char *path);

/*
 * Unpacks the file. *ret is the raw image's descriptor, which the caller closes; /proc/self/fd/N opens it by name.
 * progress counts the bytes of the packed file that have been read; it may be NULL. Errors: EBADMSG or EINVAL with a
 * reason for a damaged file or one that has what is not read (qcow2's backing files, compressed clusters, encryption
 * and the like); ENOMEM, errors of reading and writing; EINTR after a signal.
 */
MUST_CHECK errcode_t raw_image_unpack(const char *path, enum raw_image_packing packing, struct progress *progress,
                                      int *ret, struct problem *problem);
