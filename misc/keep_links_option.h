/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --keep-directory-links of the tools that lay sources over each other, or over an image. */
#pragma once

#include "command/command_line.h"

#define KEEP_LINKS_ROW(member)                                                                                         \
	{                                                                                                              \
		.name = "keep-directory-links", FIELD(member),                                                         \
		.help = "where a SOURCE has a directory and what lies below it a symbolic link to one, the\n"          \
			"link stays, and the files go where it leads (as tar --keep-directory-symlink)"                \
	}
