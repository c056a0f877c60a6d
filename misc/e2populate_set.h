/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What e2populate's options do to the command, where the field alone is not enough: the functions that rows of
 * e2populate_rows.c name. Each takes an option as it was found; wrong usage ends the program.
 */
#pragma once

#include "e2populate_options.h"

/*
 * Ends the program with `status` and the command's problem, if there is an error: one of the command line is wrong
 * usage, but a file that it names may be at fault, too.
 */
void command_check(struct command *command, errcode_t error, int status);
void set_list_inputs(struct command *command, const struct taken_option *option);
void add_source(struct command *command, const struct taken_option *option);
void add_exclude(struct command *command, const struct taken_option *option);
void add_excludes_from(struct command *command, const struct taken_option *option);
void add_verity(struct command *command, const struct taken_option *option);
void set_verity_option(struct command *command, const struct taken_option *option);
void set_owner_map(struct command *command, const struct taken_option *option);
void set_id_map(struct command *command, const struct taken_option *option);
/* The words of --whiteouts; NULL after the last one. */
const char *whiteouts_name(unsigned int index);
void set_whiteouts(struct command *command, const struct taken_option *option);
void set_metadata(struct command *command, const struct taken_option *option);
void set_free_inodes(struct command *command, const struct taken_option *option);
void set_free(struct command *command, const struct taken_option *option);
void set_memory(struct command *command, const struct taken_option *option);
void set_limit(struct command *command, const struct taken_option *option);
void set_zeros(struct command *command, const struct taken_option *option);
void set_reflink(struct command *command, const struct taken_option *option);
void set_labels(struct command *command, const struct taken_option *option);
void set_label(struct command *command, const struct taken_option *option);
void set_like(struct command *command, const struct taken_option *option);
void set_layout(struct command *command, const struct taken_option *option);
