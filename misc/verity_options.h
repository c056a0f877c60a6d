/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that say how --verity protects files, by the names that fsverity(1) gives them. */
#pragma once

#include "command/command_line.h"
#include "populate/build/options.h"

/* In the order of their words. */
#define VERITY_ALGORITHM_WORDS "sha256|sha512"

/* Takes one of --verity-hash-alg, --verity-block-size and --verity-salt. Wrong usage ends the program. */
void verity_option_take(struct verity_rules *rules, const struct taken_option *option);

/* After all options: they go with --verity, and sha256 is what is meant without them. */
void verity_options_check(struct verity_rules *rules);
