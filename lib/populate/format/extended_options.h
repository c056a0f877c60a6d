/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mke2fs's -E list: some of its options say what is put into the filesystem, and so concern us too. */
#pragma once

#include <stdbool.h>

#include "support/problem.h"

/* Is an option of this name in a list ("stride=16,root_owner"), with a value or without? list may be NULL. */
bool extended_has(const char *list, const char *name);

/* What follows the = of the last option of this name, "" without one. The caller frees it. ENOMEM. */
MUST_CHECK errcode_t extended_value(const char *list, const char *name, char **ret);

/* The list without the options of this name. The caller frees it. ENOMEM. */
MUST_CHECK errcode_t extended_without(const char *list, const char *name, char **ret);
