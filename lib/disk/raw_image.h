/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one way in which tools open what holds a filesystem. A file is recognised by its first bytes, not by its name:
 * what is packed (gzip, zstd, xz, bzip2, lz4, lzip, compress), is a qcow2 or an Android sparse image, or comes through
 * a pipe becomes a raw image, a sparse file without a name in the directory for temporary files, which is TMPDIR's,
 * else /var/tmp. It is gone when it is closed, however the program ends. Such forms may be within each other, 4 at
 * most.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "disk/disk_form.h"
#include "support/problem.h"
#include "support/run/progress.h"
#include "tree/source_limits.h"

#define RAW_IMAGE_FORM_BYTES 32

/* An image that can be opened by name, in any order. */
struct raw_image {
	char *path;     /* owned: the file's own, or that of the descriptor in /proc; NULL: it is not open */
	int descriptor; /* of the unpacked image; -1: the file itself is read */
};

/*
 * Finds it; "-" is standard input. What is neither a regular file nor a pipe, or is missing, is left to the caller's
 * own opening, and a pipe into which nothing writes is refused. counts: limits what it unpacks to; progress counts the
 * bytes of the packed file that have been read; both may be NULL. The caller closes *image in any case. Errors: EBADMSG
 * or EINVAL with a reason for a damaged file or one that has what is not read (qcow2's backing files, compressed
 * clusters, encryption and the like); EDQUOT with a reason; ENOMEM, errors of reading and writing; EINTR after a
 * signal. The problem has the name of the file.
 */
MUST_CHECK errcode_t raw_image_open(const char *name, struct source_counts *counts, struct progress *progress,
                                    struct raw_image *image, struct problem *problem);
void raw_image_close(struct raw_image *image);

/* Gives a problem that names the unpacked image the name of its file. Returns error. */
errcode_t raw_image_rename(const struct raw_image *image, errcode_t error, const char *name, struct problem *problem);

/*
 * In which form a regular file is, for messages: "packed with gzip", "a qcow2 image". False: it is a raw image, or no
 * regular file. What has ext4's superblock where it belongs is raw: a boot block may begin with any bytes.
 */
bool raw_image_form(const char *path, char what[RAW_IMAGE_FORM_BYTES]);

/*
 * Reads the beginning of the raw image, and no more, of a regular file or a block device; of qcow2 and Android sparse
 * images, packed perhaps, their own. False: it cannot be unpacked, or is shorter.
 */
bool raw_image_head(const char *path, uint8_t bytes[DISK_FORM_BYTES]);
