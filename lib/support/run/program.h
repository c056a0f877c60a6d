/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the system's programs are. */
#pragma once

#include "support/problem.h"

/*
 * The path of a program in PATH, /usr/sbin or /sbin (often outside an ordinary user's PATH), in this order, but never
 * this program itself, under whatever name: one that stands in for another can call that. The caller frees *path.
 * ENOENT, ENOMEM.
 */
MUST_CHECK errcode_t program_find(const char *name, char **path);
