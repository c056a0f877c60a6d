/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option --list-inputs=json of several tools. */
#pragma once

#include "command/option_row.h"

/* A row of a tool's table; the tool has a function set_list_inputs(). */
#define LIST_INPUTS_ROW                                                                                                \
	{                                                                                                              \
		.name = "list-inputs", .argument = "json", .kind = ARGUMENT_WORDS, .words = "json",                    \
		.set = set_list_inputs,                                                                                \
		.help = "print all that a run with these options would read and write, with a digest of\n"             \
			"what is read, and make nothing"                                                               \
	}
