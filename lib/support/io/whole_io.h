/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pread(2) and pwrite(2) of exactly so many bytes, whatever the kernel takes at once. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

/* Errors of pread(2); ENODATA where the file ends before. What was read until then is in bytes. */
MUST_CHECK errcode_t whole_read(int descriptor, void *bytes, size_t count, uint64_t offset);

/* Errors of pwrite(2); EIO where it writes nothing. What was written until then stays. */
MUST_CHECK errcode_t whole_write(int descriptor, const void *bytes, size_t count, uint64_t offset);
