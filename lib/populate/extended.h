/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mke2fs's -E list: some of its options say what is put into the filesystem, and so concern us too. */
#ifndef POPULATE_EXTENDED_H
#define POPULATE_EXTENDED_H

#include <stdbool.h>

/* Is an option of this name in a list ("stride=16,root_owner"), with a value or without? list may be NULL. */
bool extended_has(const char *list, const char *name);

#endif
