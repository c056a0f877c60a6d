/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ext2mb-run's command line. */
#pragma once

#include "command/command_line.h"

struct command {
	bool journal;
	bool is_verbose;
	char **program; /* its name and its arguments, and NULL after the last one */
};

/* Reads the command line; --help, --version and wrong usage end the program. arguments must outlive command. */
void command_parse(int argument_count, char **arguments, struct command *command);
