/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option --limit of tools that read sources. */
#pragma once

#include <stdbool.h>

#include "tree/source_limits.h"

/* For an option row's words. */
#define SOURCE_LIMITS_WORDS "names=|unpacked=|metadata=|path="

/* The option of tools that open an image by itself: setter calls source_limits_read_unpacked(). */
#define UNPACKED_LIMIT_ROW(setter)                                                                                     \
	{                                                                                                              \
		.name = "limit", .argument = "LIMIT", .kind = ARGUMENT_TEXT, .words = "unpacked=", .set = setter,      \
		.help = "unpacked=SIZE (1T): how much a packed image may unpack to; or unpacked=none"                  \
	}

/*
 * Reads the option's argument, LIMIT=VALUE[,LIMIT=VALUE...], and sets these limits. Returns true if metadata is among
 * them. Wrong usage ends the program.
 */
bool source_limits_read(const char *argument, struct source_limits *limits);

/* The same for unpacked=SIZE alone. */
void source_limits_read_unpacked(const char *argument, uint64_t *most_bytes);
