/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of --dm-verity, which have the names that veritysetup(8) gives them. */
#pragma once

#include "e2populate_options.h"

extern const struct option_row dm_verity_rows[];

/* After all options: which of them go together. Wrong usage ends the program. */
void dm_verity_options_check(const struct command *command);
