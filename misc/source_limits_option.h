/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option --limit of tools that read sources. */
#pragma once

#include <stdbool.h>

#include "tree/source_limits.h"

/* For an option row's words. */
#define SOURCE_LIMITS_WORDS "names=|unpacked=|metadata=|path="

/*
 * Reads the option's argument, LIMIT=VALUE[,LIMIT=VALUE...], and sets these limits. Returns true if metadata is among
 * them. Wrong usage ends the program.
 */
bool source_limits_read(const char *argument, struct source_limits *limits);
