/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option -d of tools that read sources: names that it refuses. */
#pragma once

#include "command/command_line.h"

/*
 * Ends the program as wrong usage if the last source of the list has no name, is standard input for the second time, or
 * is a URL, an image of a registry or a container engine, or a path on another host, and no file has this name. Then
 * the message has the command that fetches it.
 */
void source_option_check(const struct argument_list *sources);
