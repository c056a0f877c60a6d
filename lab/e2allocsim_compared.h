/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of e2allocsim that say what is compared: policies, their choices and tunables. Main thread. */
#pragma once

#include "compare/tunables.h"
#include "e2allocsim_options.h"

/* Ends with a zero row. */
extern const struct option_row compared_rows[];

/* Ends the program with a message if the runs that are compared differ in what was set. */
void compared_check(struct command *command);
