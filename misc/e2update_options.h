/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2update's command line. */
#pragma once

#include "against_option.h"
#include "command/command_line.h"
#include "layer_cache_option.h"
#include "source/kind/run_files.h"
#include "update/build/options.h"

struct command {
	struct update_options options;
	enum progress_style progress;
	bool is_quiet, is_verbose, is_json;
	bool lists_inputs;      /* and changes nothing */
	struct run_files files; /* what is read and written */
	bool metadata_limit_given;
	struct argument_list sources, removed;
	struct against against;
	struct layer_cache_option layer_cache;
	struct exclude *exclude; /* owned; NULL: nothing is left out */
	struct owner_map owners;
	struct problem problem; /* of the option that was just read */
};

/*
 * Reads the command line and SOURCE_DATE_EPOCH; --help, --version and wrong usage end the program. arguments must
 * outlive command.
 */
void command_parse(int argument_count, char **arguments, struct command *command);

void command_free(struct command *command);
