/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finding the system's programs. */
#pragma once

#include "support/problem.h"

/*
 * The path of what the static tools' archive brings, named as seen from the tool's own folder. The caller frees *path.
 * ENOENT: this is no static tool, or /proc is not mounted. ENOMEM.
 */
MUST_CHECK errcode_t program_beside(const char *name, char **path);

/*
 * Finds a program in PATH, /usr/sbin or /sbin (often outside an ordinary user's PATH), in this order, but never this
 * program itself under any name: so a program that replaces another can call it. The static tools take those
 * that their archive brings before all others. The caller frees *path. ENOENT, ENOMEM.
 */
MUST_CHECK errcode_t program_find(const char *name, char **path);
