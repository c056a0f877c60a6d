/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading and writing of exactly so many bytes, whatever the kernel takes at once. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "support/problem.h"

/* Errors of pread(2); ENODATA where the file ends before. What was read until then is in bytes. */
MUST_CHECK errcode_t whole_read(int descriptor, void *bytes, size_t count, uint64_t offset);

/* Errors of pwrite(2); EIO where it writes nothing. What was written until then stays. */
MUST_CHECK errcode_t whole_write(int descriptor, const void *bytes, size_t count, uint64_t offset);

/*
 * Writes what was printed to a stream and may not have reached its file yet. The reason why it, or what was printed
 * before, cannot be written; EIO if nothing says which.
 */
MUST_CHECK errcode_t flush_output(FILE *stream);
