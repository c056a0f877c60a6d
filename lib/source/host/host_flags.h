/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks the host for the flags of its files (tree/file_flags.h). */
#pragma once

#include <stdint.h>

#include "support/problem.h"

/* The flags of an open regular file or directory. EIO; any other failure is FILE_FLAGS_UNREAD. Any thread. */
MUST_CHECK errcode_t file_flags_read(int descriptor, uint32_t *flags);

/* The same in two parts. One call (FS_IOC_GETFLAGS), and its errors; the descriptor may be of anything. */
MUST_CHECK errcode_t file_flags_ask(int descriptor, uint32_t *flags);

/* What they are after all, where that call has ended with this error. */
uint32_t file_flags_otherwise(int descriptor, errcode_t error);
