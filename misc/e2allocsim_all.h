/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `e2allocsim all`. */
#ifndef MISC_E2ALLOCSIM_ALL_H
#define MISC_E2ALLOCSIM_ALL_H

#include "support/problem.h"

/* arguments[1] is "all". Wrong usage, --help and --version end the program. */
MUST_CHECK errcode_t all_main(int argument_count, char **arguments, struct problem *problem);

#endif
