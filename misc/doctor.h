/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * e2populate --doctor: tries what this host, the source's filesystem and that of the image can do, and says what would
 * be slow or fail and what to do about it. Nothing is left behind.
 */
#pragma once

#include "e2populate_options.h"

/* Prints what was found, as text or as JSON. Returns the program's exit status: EXIT_FAILURE where no image can be
 * made. */
int doctor_run(const struct command *command);
