/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks all counters, summaries and indexes by recounting them. */
#pragma once

#include "allocator/core/allocator.h"

/* EXT2MB_ET_CHECK_FAILED and a sentence in why, ENOMEM. No other thread may run. */
MUST_CHECK errcode_t check_everything(struct ext2mb *mb, char *why, size_t why_bytes);
