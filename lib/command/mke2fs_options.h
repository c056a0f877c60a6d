/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of mke2fs(8) that tools pass on to it. */
#pragma once

#include "command/command_line.h"

/* The options that describe the filesystem. */
extern const struct option_row mke2fs_options[];

/* Takes one of them; each tool that has them in its tables defines this function. */
void set_mke2fs_option(struct command *command, const struct taken_option *option);

/*
 * Adds "-bARGUMENT" to what is passed on, argument being NULL for an option that takes none; an empty one
 * is a word of its own. Ends the program without
 * memory. mke2fs_arguments_free() frees these strings, too.
 */
void mke2fs_arguments_add(struct argument_list *arguments, char letter, const char *argument);
void mke2fs_arguments_free(struct argument_list *arguments);

#define MKE2FS_SIZE_BYTES 24

/*
 * A size as mke2fs(8) reads it: `size` itself where it does (octal and hexadecimal numbers included), else one in KiB
 * that is written to `text`, rounded down, for what only units_parse_bytes() reads, as 1.5G or 10MB. NULL: it is no
 * size.
 */
const char *mke2fs_size(const char *size, char text[MKE2FS_SIZE_BYTES]);
