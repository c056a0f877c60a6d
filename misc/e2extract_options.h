/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2extract's command line. */
#pragma once

#include "command/command_line.h"
#include "extract/extract.h"
#include "source/kind/run_files.h"
#include "tree/source_limits.h"

struct command {
	const char *image;      /* as it was given */
	uint64_t offset_bytes;  /* where in it the filesystem begins */
	const char *output;     /* NULL: --list */
	const char *directory;  /* -C: the same, and the form is a directory; NULL: not given */
	unsigned int form_word; /* of --format; FORM_BY_NAME: not given */
	bool is_list, is_json;
	bool has_report;        /* as JSON */
	bool lists_inputs;      /* and makes nothing */
	struct run_files files; /* what is read and written */
	bool is_quiet, is_verbose;
	struct extract_options options;
	struct source_limits limits;
	unsigned int threads;
	enum progress_style progress;
};

/* Reads the command line; --help, --version and wrong usage end the program. arguments must outlive command. */
void command_parse(int argument_count, char **arguments, struct command *command);
