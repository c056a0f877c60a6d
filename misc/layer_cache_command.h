/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of --layer-cache, and what e2populate does with a cache of layers instead of making an image. */
#pragma once

#include "e2populate_options.h"

extern const struct option_row layer_cache_rows[];

/* After all options: completes them. Wrong usage ends the program. */
void layer_cache_options_check(struct command *command);

/* Is the cache to be looked at, and no image to be made? */
bool layer_cache_is_all(const struct command *command);

/* Does that, and prints what there is to say. Returns the program's exit status. */
int layer_cache_run(const struct command *command);
