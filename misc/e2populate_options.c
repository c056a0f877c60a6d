// SPDX-License-Identifier: GPL-2.0-or-later
/* The options that e2populate has beside those of mke2fs(8). */
#include "e2populate_options.h"

#include <stdlib.h>
#include <string.h>

#include "standard_streams.h"
#include "support/text/units.h"

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

static void take_stable_from(struct command *command, const char *argument)
{
	command->options.stable_from = argument;
}

static void take_help(struct command *command, const char *argument)
{
	(void)command;
	(void)argument;
	command_print_help();
	exit_after_printing("e2populate");
}

static void take_version(struct command *command, const char *argument)
{
	(void)command;
	(void)argument;
	command_print_version();
	exit_after_printing("e2populate");
}

/* With blocks of 4096 bytes no filesystem is larger; sums with more could overflow. */
#define MOST_FREE_BYTES (UINT64_C(1) << 60)

static void take_free(struct command *command, const char *argument)
{
	struct populate_options *options = &command->options;
	size_t length = strlen(argument);
	SCOPE_FREE char *number = strndup(argument, length ? length - 1 : 0);
	uint64_t percent = 0;

	options->free_bytes = 0;
	options->free_percent = 0;
	if (length && argument[length - 1] == '%') {
		if (!number || units_parse_number(number, 0, 99, &percent))
			usage_error("--free: %s is not a percentage from 0%% to 99%%", argument);
		options->free_percent = (unsigned int)percent;
	} else if (units_parse_bytes(argument, 1, &options->free_bytes) || options->free_bytes > MOST_FREE_BYTES) {
		usage_error("--free: %s is neither a size nor a percentage", argument);
	}
}

static void take_free_inodes(struct command *command, const char *argument)
{
	uint64_t inodes;

	if (units_parse_number(argument, 0, UINT32_MAX, &inodes))
		usage_error("--free-inodes: %s is not a number from 0 to %u", argument, UINT32_MAX);
	command->options.free_inodes = (uint32_t)inodes;
}

static void take_size_only(struct command *command, const char *argument)
{
	(void)argument;
	command->options.size_only = true;
}

static void take_verify(struct command *command, const char *argument)
{
	(void)argument;
	command->options.verify = true;
}

static void take_in_place(struct command *command, const char *argument)
{
	(void)argument;
	command->options.in_place = true;
}

static void take_report(struct command *command, const char *argument)
{
	command->json = strcmp(argument, "json") == 0;
	if (!command->json && strcmp(argument, "text") != 0)
		usage_error("--report: %s is neither text nor json", argument);
}

/* In the order of --help. */
const struct option_row command_options[] = {
	{ NULL, NULL, NULL, "What is taken from SOURCE" },
	{ "exclude", "PATTERN", take_exclude, "leave out what matches, as in .gitignore; repeatable" },
	{ "exclude-from", "FILE", take_exclude_from, "the same for each line of FILE" },
	{ "one-file-system", NULL, take_one_file_system, "directories on which something is mounted stay empty" },
	{ "no-xattrs", NULL, take_no_xattrs, "no extended attributes, ACLs or capabilities" },
	{ "flags", "keep|none", take_flags, "file flags, which chattr(1) sets, are kept (the default) or left out" },
	{ "whiteouts", "FORM", take_whiteouts, "how a SOURCE removes files of those before it: none, oci (.wh.NAME),\n"
	                                       "overlayfs, or to-overlayfs: oci, kept as overlayfs's own" },
	{ NULL, NULL, NULL, "Owners and metadata" },
	{ "owner-map", "FILE", take_owner_map, "other owners by rules, lines of FROM TO, each USER, USER:GROUP or\n"
	                                       ":GROUP; names are those of SOURCE/etc/passwd and group" },
	{ "uid-map", "FROM:TO:COUNT", take_uid_map, "users by ranges, as in a user namespace; repeatable" },
	{ "gid-map", "FROM:TO:COUNT", take_gid_map, "the same for groups" },
	{ "root-owned", NULL, take_root_owned, "everything belongs to 0:0 (also --all-root)" },
	{ "all-root", NULL, take_root_owned, NULL },
	{ "metadata", "FILE", take_metadata, "an mtree(5) manifest: owners, modes, times, xattrs of single files;\n"
	                                     "devices, directories and links that SOURCE lacks are made" },
	{ "casefold", "DIRECTORY", take_casefold, "DIRECTORY of the source (/ is all of it) and what is below become\n"
	                                          "case-insensitive, as with chattr +F; needs -O casefold" },
	{ NULL, NULL, NULL, "Size" },
	{ "free", "SIZE|N%", take_free, "space that is left for anyone (as df shows it), in bytes, with a\n"
	                               "suffix K, M, G, T, or in percent of the filesystem" },
	{ "free-inodes", "N", take_free_inodes, "inodes that are left" },
	{ "size-only", NULL, take_size_only, "print how large it would be, and write nothing" },
	{ NULL, NULL, NULL, "Work and output" },
	{ "in-place", NULL, take_in_place, "write into IMAGE if it is a file that exists, as mke2fs does, instead of\n"
	                                   "making a new one" },
	{ "threads", "N", take_threads, "how many threads work (default: the processors online;\n"
	                                "0: none beside the main one)" },
	{ "stable-from", "OLD", take_stable_from, "what did not change since the image OLD keeps its blocks, so that\n"
	                                          "the two differ in few; UUID and sizes are OLD's unless given" },
	{ "progress", "STYLE", take_progress, "auto (a bar on a terminal), bar, json or none" },
	{ "verify", NULL, take_verify, "check the image with e2fsck(8) and compare everything in it with\n"
	                              "SOURCE before it gets its name" },
	{ "report", "FORM", take_report, "text or json: what was built, on standard output" },
	{ "help", NULL, take_help, "this text" },
	{ "version", NULL, take_version, "versions of e2populate and of the library it uses" },
};

const unsigned int command_option_count = sizeof(command_options) / sizeof(*command_options);
