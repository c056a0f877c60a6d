/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole paths for messages, of directories that know only their name and their parent. */
#pragma once

#include <stdint.h>

#define ASCEND_ROOT 0u

/* One step up: the directory's own name, and the number of the one that it is in. */
struct ascent {
	const char *name;
	uint32_t name_bytes;
	uint32_t parent;
};

typedef struct ascent (*ascend_step)(const void *tree, uint32_t directory);

/*
 * root_path, then the names from the root down to `number`, then name if it is not NULL. The caller frees it;
 * NULL: no memory.
 */
char *path_text(const char *root_path, ascend_step step, const void *tree, uint32_t number, const char *name);

/* A path that begins in a directory unless it is absolute. The caller frees it; NULL: no memory. */
char *path_from(const char *directory, const char *path);
