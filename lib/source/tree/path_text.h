/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole paths for messages, of directories that know only their name and their parent. */
#ifndef SOURCE_PATH_TEXT_H
#define SOURCE_PATH_TEXT_H

#include "source/host/descend.h"

/*
 * root_path, then the names from the root down to `number`, then name if it is not NULL. The caller frees it;
 * NULL: no memory.
 */
char *path_text(const char *root_path, ascend_step step, const void *tree, uint32_t number, const char *name);

#endif
