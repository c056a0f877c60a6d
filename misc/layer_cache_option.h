/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options --layer-cache=DIR|auto, --layer-cache-size=SIZE and --layer-cache-pin of tools that read sources. */
#pragma once

#include <stdint.h>

#include "command/option_row.h"
#include "source/pack/layer_cache.h"

/* A member `layer_cache` of a tool's struct command; zero-initialise. */
struct layer_cache_option {
	const char *given; /* NULL: there is no cache */
	uint64_t bytes;    /* that it may take; 0: no limit */
	bool pins;         /* what is used stays */
	char *path;        /* owned; set by layer_cache_option_complete() */
};

/* Rows of a tool's table. */
#define LAYER_CACHE_ROWS                                                                                               \
	{ .heading = "Layers that were unpacked before" },                                                             \
		{ .name = "layer-cache",                                                                               \
		  .argument = "DIR|auto",                                                                              \
		  .kind = ARGUMENT_DIRECTORY,                                                                          \
		  FIELD(layer_cache.given),                                                                            \
		  .help = "unpack each layer of an OCI image and each archive once, into a file in DIR\n"              \
		          "(auto: ~/.cache/e2populate/layers), and read that from then on" },                          \
		{ .name = "layer-cache-size",                                                                          \
		  .argument = "SIZE",                                                                                  \
		  .kind = ARGUMENT_SIZE,                                                                               \
		  .minimum = 1,                                                                                        \
		  .maximum = UINT64_MAX,                                                                               \
		  FIELD(layer_cache.bytes),                                                                            \
		  .help = "drop those that were not used for longest until the others take no more" },                 \
	{                                                                                                              \
		.name = "layer-cache-pin", FIELD(layer_cache.pins),                                                    \
		.help = "never drop those of SOURCE to make room for others"                                           \
	}

/* Finds the place, whose path is the option's, after all options. Ends the program after wrong usage, and where "auto"
 * leads nowhere. */
void layer_cache_option_complete(struct layer_cache_option *option, struct layer_cache_place *place);
