/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finding the system's programs. */
#pragma once

#include "support/problem.h"

/*
 * Finds a program in PATH, /usr/sbin or /sbin (often outside an ordinary user's PATH), in this order, but never this
 * program itself under any name: so a program that replaces another can call it. The static tools look first into
 * ../libexec/ext2mb/e2fsprogs beside their own folder, for the mke2fs and e2fsck that their archive brings. The caller
 * frees *path. ENOENT, ENOMEM.
 */
MUST_CHECK errcode_t program_find(const char *name, char **path);
