/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes tables of options as completion files, which Makefile.in installs for the shells. */
#pragma once

#include "command/command_line.h"

#define COMPLETION_SHELLS "bash|zsh|fish" /* as enum completion_shell has them */

enum completion_shell {
	COMPLETION_BASH,
	COMPLETION_ZSH,
	COMPLETION_FISH,
};

/* Writes the tool's file to standard output. standard_rows are the options that all tools have. */
void completion_print(const struct command_line *line, const struct option_row *standard_rows,
                      enum completion_shell shell);
