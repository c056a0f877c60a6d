// SPDX-License-Identifier: GPL-2.0-or-later
/* The options that e2populate has beside those of mke2fs(8). */
#include "e2populate_options.h"

#include <stdlib.h>

#include "support/units.h"

static void take_threads(struct command *command, const char *argument)
{
	uint64_t threads;

	if (units_parse_number(argument, 0, MOST_THREADS, &threads))
		usage_error("--threads: %s is not a number from 0 to %d", argument, MOST_THREADS);
	command->options.threads = (unsigned int)threads;
}

static void take_progress(struct command *command, const char *argument)
{
	if (progress_parse_style(argument, &command->progress))
		usage_error("--progress: %s is not auto, bar, json or none", argument);
}

static void take_help(struct command *command, const char *argument)
{
	(void)command;
	(void)argument;
	command_print_help();
	exit(EXIT_SUCCESS);
}

static void take_version(struct command *command, const char *argument)
{
	(void)command;
	(void)argument;
	command_print_version();
	exit(EXIT_SUCCESS);
}

/* In the order of --help. */
const struct option_row command_options[] = {
	{ NULL, NULL, NULL, "What is taken from SOURCE" },
	{ "exclude", "PATTERN", take_exclude, "leave out what matches, as in .gitignore; repeatable" },
	{ "exclude-from", "FILE", take_exclude_from, "the same for each line of FILE" },
	{ "one-file-system", NULL, take_one_file_system, "directories on which something is mounted stay empty" },
	{ "no-xattrs", NULL, take_no_xattrs, "no extended attributes, ACLs or capabilities" },
	{ NULL, NULL, NULL, "Owners and metadata" },
	{ "owner-map", "FILE", take_owner_map, "other owners by rules, lines of FROM TO, each USER, USER:GROUP or\n"
	                                       ":GROUP; names are those of SOURCE/etc/passwd and group" },
	{ "uid-map", "FROM:TO:COUNT", take_uid_map, "users by ranges, as in a user namespace; repeatable" },
	{ "gid-map", "FROM:TO:COUNT", take_gid_map, "the same for groups" },
	{ "root-owned", NULL, take_root_owned, "everything belongs to 0:0 (also --all-root)" },
	{ "all-root", NULL, take_root_owned, NULL },
	{ NULL, NULL, NULL, "Work and output" },
	{ "threads", "N", take_threads, "how many threads work (default: the processors online;\n"
	                                "0: none beside the main one)" },
	{ "progress", "STYLE", take_progress, "auto (a bar on a terminal), bar, json or none" },
	{ "help", NULL, take_help, "this text" },
	{ "version", NULL, take_version, "versions of e2populate and of the library it uses" },
};

const unsigned int command_option_count = sizeof(command_options) / sizeof(*command_options);
