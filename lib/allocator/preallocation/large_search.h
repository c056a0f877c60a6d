/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Allocates for large files: normalises the request, and makes one attempt after the other until one finds clusters. */
#pragma once

#include "allocator/preallocation/file_need.h"

/*
 * The file's lock is held. A run that is longer than the request becomes a preallocation of the file, which serves the
 * request. EXT2MB_ET_NO_SPACE: nothing was allocated; ENOMEM, ELIBBAD.
 */
MUST_CHECK errcode_t large_search(struct file_need *need, struct preallocation *taken);
