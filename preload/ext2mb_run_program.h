/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the program that ext2mb-run executes, and checks whether a library can be preloaded into it. */
#pragma once

#include "support/problem.h"

/*
 * Finds the path of an executable program as execvp(3) would, or in /usr/sbin and /sbin. The caller frees it. ENOENT,
 * EACCES, ENOMEM.
 */
MUST_CHECK errcode_t program_locate(const char *name, char **path, struct problem *problem);

/* The file name alone. */
const char *program_name(const char *path);

/*
 * Fails for programs into which the dynamic linker does not load a preloaded library: those that are linked
 * statically, are for another machine, or gain rights when executed. For a script its interpreter is checked.
 */
MUST_CHECK errcode_t program_check(const char *path, struct problem *problem);
