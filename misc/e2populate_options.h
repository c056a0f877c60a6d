/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2populate's command line: mke2fs(8)'s options, and its own. */
#pragma once

#include "mke2fs_options.h"
#include "populate/build/options.h"

struct command {
	struct populate_options options;
	enum progress_style progress;
	bool quiet;
	bool verbose;     /* print what mke2fs says of the filesystem */
	bool json;        /* the report */
	bool force;       /* -F: do not ask */
	bool type_given;  /* or implied */
	bool is_mke2fs;   /* invoked by that name: only -d differs from it */
	const char *type; /* from the name it is invoked by: "ext3" for mkfs.ext3; NULL: none */
	const char **sources;
	size_t source_capacity;
	struct mke2fs_arguments mke2fs; /* what is passed on */
	char **casefolded;              /* --casefold; the strings are the arguments' */
	size_t casefolded_count, casefolded_capacity;
	char *extended;          /* all -E, owned */
	struct exclude *exclude; /* owned; NULL: nothing is left out */
	struct owner_map owners;
};

/* e2populate's own, the rest of mke2fs's, and those of the latter with which no filesystem is made. */
extern const struct option_row e2populate_options[], other_mke2fs_options[];

/* In misc/e2populate_choice.c. */
void take_source(struct command *command, const struct taken_option *option);
void take_exclude(struct command *command, const struct taken_option *option);
void take_exclude_from(struct command *command, const struct taken_option *option);
void take_owner_map(struct command *command, const struct taken_option *option);
void take_uid_map(struct command *command, const struct taken_option *option);
void take_gid_map(struct command *command, const struct taken_option *option);
void take_whiteouts(struct command *command, const struct taken_option *option);
void take_root_owned(struct command *command, const struct taken_option *option);
void take_metadata(struct command *command, const struct taken_option *option);
void take_casefold(struct command *command, const struct taken_option *option);

/* The words of --whiteouts; NULL after the last one. */
const char *whiteouts_name(unsigned int index);

/* Wrong usage where options of these exclude each other. */
void check_choice(const struct command *command);

/* Called by one of mke2fs's names? */
static inline bool is_stand_in(const struct command *command)
{
	return command->is_mke2fs || command->type;
}

/* True if anything on it is not mke2fs's own: -d or an option that has a name. Says nothing of wrong ones. */
bool command_is_ours(int argument_count, char **arguments);

/* Reads the command line and SOURCE_DATE_EPOCH; wrong usage ends the program. arguments must outlive command. */
void command_parse(int argument_count, char **arguments, struct command *command);

void command_free(struct command *command);
