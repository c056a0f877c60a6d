/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The versions of e2fsprogs' programs, as they themselves print them. */
#pragma once

#include "support/problem.h"

#define PROGRAM_VERSION_BYTES 256

/*
 * Runs the program with -V. line gets the first one that it prints, "mke2fs 1.47.0 (5-Feb-2023)"; it is empty if it
 * prints nothing or fails. Errors: those of running a program. Any thread.
 */
MUST_CHECK errcode_t program_version(const char *path, char line[PROGRAM_VERSION_BYTES]);
