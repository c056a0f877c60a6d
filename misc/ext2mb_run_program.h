/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program that ext2mb-run becomes: where it is, and can a library be preloaded into it? */
#pragma once

#include "support/problem.h"

/*
 * The path of a program that can be run, as execvp(3) would find it, or in /usr/sbin and /sbin. The caller frees it.
 * ENOENT, EACCES, ENOMEM.
 */
MUST_CHECK errcode_t program_locate(const char *name, char **path, struct problem *problem);

/* The file name alone. */
const char *program_name(const char *path);

/*
 * Fails for what the dynamic linker does not give a preloaded library to: programs that are linked statically, are of
 * another machine, or gain rights when they are run; for scripts their interpreter counts.
 */
MUST_CHECK errcode_t program_check(const char *path, struct problem *problem);
