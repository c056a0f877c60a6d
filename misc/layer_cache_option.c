/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "layer_cache_option.h"

#include <stdlib.h>
#include <string.h>

#include "command/tool.h"

void layer_cache_option_complete(struct layer_cache_option *option, struct layer_cache_place *place)
{
	struct problem problem = { 0 };

	if (!option->given) {
		if (option->bytes || option->pins)
			usage_error(
				"options that begin with --layer-cache- need --layer-cache=DIR or --layer-cache=auto");
		return;
	}
	if (!*option->given)
		usage_error("--layer-cache: no folder is named");
	bool is_usual = !strcmp(option->given, "auto");

	if (!is_usual) {
		option->path = strdup(option->given);
	} else if (layer_cache_usual_path(&option->path, &problem)) {
		print_problem(&problem);
		exit(EXIT_FAILURE);
	}
	if (!option->path)
		exit_without_memory();
	*place = (struct layer_cache_place){ option->path, is_usual, option->bytes, option->pins };
}
