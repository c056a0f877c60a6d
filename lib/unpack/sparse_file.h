/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A temporary file without a name, in which zeros are holes: an image is mostly free space. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

/* The folder in which they are made: TMPDIR, or /var/tmp. It lasts as long as the environment. */
const char *sparse_file_folder(void);

/* In TMPDIR or, without that, in /var/tmp. Errors of open(2); the problem names the directory. */
MUST_CHECK errcode_t sparse_file_create(int *ret, struct problem *problem);

/* Writes what is not zero, in ascending places of a new file. The problem names the directory and the packed file. */
MUST_CHECK errcode_t sparse_file_write(int descriptor, const void *bytes, size_t count, uint64_t at, const char *path,
                                       struct problem *problem);

/* ENOSPC, likewise: so much more certainly does not fit. For what is written without being read from anywhere. */
MUST_CHECK errcode_t sparse_file_check_room(int descriptor, uint64_t bytes, const char *path, struct problem *problem);

/* Sets the size. Errors likewise. */
MUST_CHECK errcode_t sparse_file_end(int descriptor, uint64_t size_bytes, const char *path, struct problem *problem);
