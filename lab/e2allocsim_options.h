/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2allocsim's command line. */
#pragma once

#include "command/mke2fs_options.h"
#include "simulate/overview/overview.h"
#include "simulate/simulate.h"

struct command {
	bool is_all; /* `e2allocsim all`: overview is set, and no member after it */
	struct overview_options overview;
	struct simulate_options options;
	struct setting settings[WORKLOAD_MOST_OPTIONS];
	struct policy_options policy;
	struct user_library *user; /* owned; NULL: the policy is built in */
	enum comparison comparison;
	struct configuration *configurations; /* owned */
	unsigned int *threads;                /* owned */
	unsigned int *processors;             /* owned; NULL: not given */
	size_t processor_count;
	struct machine machine; /* a NULL name: none */
	const char *size;       /* of the new image; NULL: the image exists */
	char size_text[MKE2FS_SIZE_BYTES];
	uint64_t most_unpacked_bytes; /* of a packed image; 0: no limit */
	bool force;
	bool is_in_place;  /* the result is written into an image that exists */
	bool is_aged;      /* age the new image before the workload */
	bool is_half_full; /* fill half of the new image before the workload */
	struct argument_list mke2fs;
	bool type_given;     /* by -t, -T or -O: ours is not added */
	bool extended_given; /* -E */
	enum progress_style progress;
	bool json;
};

/* Reads the command line; --help, --version and wrong usage end the program. arguments must outlive command. */
void command_parse(int argument_count, char **arguments, struct command *command);

void command_free(struct command *command);
