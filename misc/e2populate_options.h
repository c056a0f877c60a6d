/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2populate's command line: mke2fs(8)'s own, and one row of a table for each option beside it. */
#ifndef MISC_E2POPULATE_OPTIONS_H
#define MISC_E2POPULATE_OPTIONS_H

#include "populate/build/options.h"
#include "support/work/progress.h"
#include "usage.h"

#define MOST_THREADS 1024

struct command {
	struct populate_options options;
	enum progress_style progress;
	bool quiet;
	bool verbose; /* print what mke2fs says of the filesystem */
	bool json; /* the report */
	bool force; /* -F: ask nobody */
	bool type_given;     /* or implied */
	bool is_mke2fs;      /* called by that name: nothing is to differ from it but -d */
	const char *type;    /* what the name it is called by says: "ext3" for mkfs.ext3; NULL: nothing */
	const char **sources;
	size_t source_capacity;
	char **mke2fs; /* what is passed on; the strings are owned */
	size_t mke2fs_count, mke2fs_capacity;
	char **casefolded; /* --casefold; the strings are the arguments' */
	size_t casefolded_count, casefolded_capacity;
	char *extended; /* all -E, owned */
	struct exclude *exclude; /* owned; NULL: nothing is left out */
	struct owner_map owners;
};

/* An option that mke2fs does not have; or, without a name, the heading of those that follow. */
struct option_row {
	const char *name;     /* "threads" for --threads */
	const char *argument; /* what --help calls it; NULL: the option takes none */
	void (*take)(struct command *command, const char *argument);
	const char *help;     /* further lines after \n; NULL: another name of the option before it */
};

/* In misc/e2populate_choice.c. */
void take_exclude(struct command *command, const char *argument);
void take_exclude_from(struct command *command, const char *argument);
void take_one_file_system(struct command *command, const char *argument);
void take_no_xattrs(struct command *command, const char *argument);
void take_flags(struct command *command, const char *argument);
void take_owner_map(struct command *command, const char *argument);
void take_uid_map(struct command *command, const char *argument);
void take_gid_map(struct command *command, const char *argument);
void take_whiteouts(struct command *command, const char *argument);
void take_root_owned(struct command *command, const char *argument);
void take_metadata(struct command *command, const char *argument);

void take_casefold(struct command *command, const char *argument);

/* Wrong usage where options of these exclude each other. */
void check_choice(const struct command *command);

extern const struct option_row command_options[];
extern const unsigned int command_option_count;

/* Called by one of mke2fs's names? */
static inline bool is_stand_in(const struct command *command)
{
	return command->is_mke2fs || command->type;
}

/* True if anything on it is not mke2fs's own: -d or an option of the table. Says nothing of wrong ones. */
bool command_is_ours(int argument_count, char **arguments);

/* Reads the command line and SOURCE_DATE_EPOCH; wrong usage ends the program. arguments must outlive command. */
void command_parse(int argument_count, char **arguments, struct command *command);

void command_free(struct command *command);

/* The texts of --help and --version. */
void command_print_help(void);
void command_print_version(void);

#endif
