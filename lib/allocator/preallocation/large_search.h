/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Allocation for large files: the request is normalised, and the first attempt that finds anything serves it. */
#pragma once

#include "allocator/preallocation/file_need.h"

/*
 * The file's lock is held. What is found and is more than the request becomes a preallocation of the file, of which the
 * request is served. EXT2MB_ET_NO_SPACE, and nothing has been taken; ENOMEM, ELIBBAD.
 */
MUST_CHECK errcode_t large_search(struct file_need *need, struct preallocation *taken);
