/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that take a size or a percentage, as --free and --memory. */
#pragma once

#include "command/command_line.h"

/*
 * Reads the option's argument, "64M" or "10%". Returns the percentage; 0 for a size, which *bytes gets. Wrong usage
 * ends the program, and so does a size below 100 bytes, whose percent sign was forgotten.
 */
unsigned int share_option_read(const struct taken_option *option, unsigned int most_percent, uint64_t most_bytes,
                               uint64_t *bytes);

/* The same for free space, of a filesystem of any size that there can be. */
unsigned int share_option_read_free(const struct taken_option *option, uint64_t *bytes);
