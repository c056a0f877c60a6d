/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ext2mb-run tells the library that it preloads, and what the library knows of the program it is in. */
#pragma once

#include <stdbool.h>

/* The environment variable in which it is told. */
#define SETTINGS_VARIABLE "EXT2MB_RUN"

/* May a program of this name, without folders, be run with a journal? */
bool settings_may_journal(const char *name);

/* Puts it into the environment of the program that is run next. Not 0: there is no memory. */
int settings_export(bool journal, bool is_verbose);
