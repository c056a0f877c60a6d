/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading and writing exactly `count` bytes, in as many calls as the kernel needs. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "support/problem.h"

/* Errors of pread(2); ENODATA if the file ends before. Bytes that were read before an error are stored. */
MUST_CHECK errcode_t whole_read(int descriptor, void *bytes, size_t count, uint64_t offset);

/* Errors of pwrite(2); EIO if it writes nothing. Bytes that were written before an error stay. */
MUST_CHECK errcode_t whole_write(int descriptor, const void *bytes, size_t count, uint64_t offset);

/*
 * Flushes a stream. Returns why this or earlier output could not be written; EIO if the reason is unknown.
 */
MUST_CHECK errcode_t flush_output(FILE *stream);
