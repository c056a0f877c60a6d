/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options --against=OLD, --against-chunk=SIZE and --against-ranges=FILE of several tools. */
#pragma once

#include "command/option_row.h"
#include "image/delta.h"
#include "source/kind/run_files.h"

/* A member `against` of a tool's struct command; zero-initialise. */
struct against {
	const char *old;      /* NULL: nothing is compared */
	uint64_t chunk_bytes; /* 0: not given */
	const char *ranges;   /* where the list of ranges goes; NULL: nowhere */
};

/* Rows of a tool's table. */
#define AGAINST_ROWS                                                                                                   \
	{ .name = "against",                                                                                           \
	  .argument = "OLD",                                                                                           \
	  .kind = ARGUMENT_IMAGE,                                                                                      \
	  FIELD(against.old),                                                                                          \
	  .help = "say which blocks differ from those of the image OLD, and have to be shipped to\n"                   \
		  "those who have it; what is free in IMAGE does not count" },                                         \
		{ .name = "against-chunk",                                                                             \
		  .argument = "SIZE",                                                                                  \
		  .kind = ARGUMENT_SIZE,                                                                               \
		  .minimum = 4096,                                                                                     \
		  .maximum = UINT64_C(1) << 40,                                                                        \
		  FIELD(against.chunk_bytes),                                                                          \
		  .help = "with --against: of chunks, too, of SIZE bytes (64K)" },                                     \
	{                                                                                                              \
		.name = "against-ranges", .argument = "FILE", .kind = ARGUMENT_FILE, FIELD(against.ranges),            \
		.help = "with --against: write the ranges that differ to FILE, a line each: start and\n"               \
			"length in bytes"                                                                              \
	}

/* Ends the program where they cannot be combined, and completes them. */
void against_check(struct against *against);

/* Adds the file of the ranges to what is written. ENOMEM. */
MUST_CHECK errcode_t against_name_ranges(const struct against *against, struct run_files *files);

/* Writes the list of ranges, if asked for; not over the image or the older one. */
MUST_CHECK errcode_t against_write_ranges(const struct against *against, const char *image, const struct delta *delta,
                                          struct problem *problem);
