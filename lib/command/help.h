/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of --help, from tables of options. */
#pragma once

#include "command/command_line.h"

/* Prints all of --help. */
void help_print(const struct command_line *line, const struct option_row *standard_rows);

/* Prints a table's options. */
void help_print_options(const struct option_row *rows);

/* Prints one option, unless its row has no help. */
void help_print_option(const struct option_row *row);
