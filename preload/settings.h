/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings that ext2mb-run passes to the library that it preloads. */
#pragma once

#include <stdbool.h>

/* The environment variable that carries them. */
#define SETTINGS_VARIABLE "EXT2MB_RUN"

/* May a program of this name, without folders, be run with a journal? */
bool settings_may_journal(const char *name);

/* Puts the settings into the environment of the program that is run next. Returns nonzero without memory. */
int settings_export(bool journal, bool is_verbose);
