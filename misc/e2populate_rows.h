/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of e2populate's options. */
#pragma once

#include "command/command_line.h"

extern const struct command_line e2populate_line;
