/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On what machine, when, and how busy it is. */
#pragma once

#include <stdio.h>

/* A line of Markdown. Errors stay in the stream. */
void overview_machine_print(FILE *stream, unsigned int online_processors);
