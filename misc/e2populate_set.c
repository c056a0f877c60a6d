/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What e2populate's options do to the command, where the field alone is not enough. */
#include "e2populate_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "populate/format/mke2fs.h"
#include "share_option.h"
#include "source/sources.h"
#include "source_option.h"
#include "disk/source_limits_option.h"
#include "support/run/memory.h"
#include "support/text/units.h"
#include "verity_options.h"

/* Bytes of ext2_super_block's s_last_mounted. */
#define MOUNT_POINT_BYTES 64

void command_check(struct command *command, errcode_t error, int status)
{
	if (!error)
		return;
	print_problem(&command->problem);
	exit(error == ENOMEM ? EXIT_FAILURE : status);
}

void set_list_inputs(struct command *command, const struct taken_option *option)
{
	(void)option;
	command->lists_inputs = true;
}

/* --- The source: what is taken, with which owners and metadata ----------------------------------------------- */

void add_source(struct command *command, const struct taken_option *option)
{
	(void)option;
	source_option_check(&command->sources);
}

static struct exclude *needed_patterns(struct exclude **patterns)
{
	if (!*patterns && exclude_create(patterns))
		exit_without_memory();
	return *patterns;
}

void add_exclude(struct command *command, const struct taken_option *option)
{
	command_check(command,
	              exclude_add(needed_patterns(&command->exclude), option->argument, "--exclude", &command->problem),
	              EXIT_USAGE);
}

/* Adds a file that an option names, before it is read. */
static void name_file(struct command *command, const struct taken_option *option, const char *role)
{
	if (run_files_read(&command->files, role, option->argument, 0))
		exit_without_memory();
}

void add_excludes_from(struct command *command, const struct taken_option *option)
{
	name_file(command, option, "exclude");
	command_check(command,
	              exclude_add_file(needed_patterns(&command->exclude), option->argument, &command->problem),
	              EXIT_FAILURE);
}

void add_verity(struct command *command, const struct taken_option *option)
{
	command_check(command,
	              exclude_add(needed_patterns(&command->verity), option->argument, "--verity", &command->problem),
	              EXIT_USAGE);
}

void set_verity_option(struct command *command, const struct taken_option *option)
{
	verity_option_take(&command->options.verity, option);
}

void set_owner_map(struct command *command, const struct taken_option *option)
{
	name_file(command, option, "owner-map");
	command_check(command, owner_map_add_file(&command->owners, option->argument, &command->problem), EXIT_FAILURE);
}

void set_id_map(struct command *command, const struct taken_option *option)
{
	bool is_user = strcmp(option->row->name, "uid-map") == 0;

	command_check(command,
	              owner_map_add_range(&command->owners, is_user ? ACCOUNT_USER : ACCOUNT_GROUP, option->argument,
	                                  is_user ? "--uid-map" : "--gid-map", &command->problem),
	              EXIT_USAGE);
}

static const struct {
	const char *name;
	enum whiteout_form whiteouts;
	enum whiteout_keeping keeping;
} whiteouts[] = {
	{ "none", WHITEOUTS_NONE, WHITEOUTS_DROPPED },
	{ "oci", WHITEOUTS_OCI, WHITEOUTS_DROPPED },
	{ "overlayfs", WHITEOUTS_OVERLAYFS, WHITEOUTS_DROPPED },
	{ "to-overlayfs", WHITEOUTS_OCI, WHITEOUTS_AS_OVERLAYFS },
};

const char *whiteouts_name(unsigned int index)
{
	return index < sizeof(whiteouts) / sizeof(*whiteouts) ? whiteouts[index].name : NULL;
}

void set_whiteouts(struct command *command, const struct taken_option *option)
{
	struct source_layering *layering = &command->options.layering;

	layering->whiteouts = whiteouts[option->value].whiteouts;
	layering->keeping = whiteouts[option->value].keeping;
}

void set_metadata(struct command *command, const struct taken_option *option)
{
	if (command->options.metadata)
		usage_error("--metadata is given twice: put all lines into one file");
	command->options.metadata = option->argument;
}

void set_free_inodes(struct command *command, const struct taken_option *option)
{
	command->options.free_inodes = (uint32_t)option->value;
	command->options.free_inodes_given = true;
}

void set_free(struct command *command, const struct taken_option *option)
{
	struct populate_options *options = &command->options;

	options->free_percent = share_option_read_free(option, &options->free_bytes);
}

void set_memory(struct command *command, const struct taken_option *option)
{
	uint64_t bytes;
	unsigned int percent = share_option_read(option, 100, UINT64_MAX, &bytes);

	command->memory_given = true;
	command->options.memory_bytes = percent ? memory_available() / 100 * percent : bytes;
}

void set_limit(struct command *command, const struct taken_option *option)
{
	command->metadata_limit_given |= source_limits_read(option->argument, &command->options.limits);
}

void set_zeros(struct command *command, const struct taken_option *option)
{
	(void)option;
	command->zeros_given = true;
}

void set_reflink(struct command *command, const struct taken_option *option)
{
	command->reflink_given = option->argument;
}

/* In the order of the option's words. */
void set_labels(struct command *command, const struct taken_option *option)
{
	static const enum label_choice choices[] = { LABELS_OF_RULES, LABELS_OF_SOURCE, LABELS_LEFT_OUT };

	command->options.labels.choice = choices[option->value];
}

/* In the order of the option's words. */
void set_like(struct command *command, const struct taken_option *option)
{
	command->like_given = true;
	command->options.like = option->value ? LIKE_NONE : LIKE_SOURCE;
}

void set_layout(struct command *command, const struct taken_option *option)
{
	(void)option;
	command->layout_given = true;
}

/* --- Options of mke2fs(8) ----------------------------------------------------------------------------------------- */

/* mke2fs obeys only its last -E: here they add up. */
static void add_extended(struct command *command, const char *argument)
{
	char *joined = NULL;

	if (asprintf(&joined, "%s%s%s", command->extended ? command->extended : "", command->extended ? "," : "",
	             argument) < 0)
		exit_without_memory();
	free(command->extended);
	command->extended = joined;
}

/* mke2fs truncates them, with a warning that is not shown here, or without one. */
static void check_length(const struct command *command, const char *option, const char *argument, size_t most_bytes)
{
	if (strlen(argument) <= most_bytes)
		return;
	if (!is_stand_in(command))
		usage_error("%s: %s is longer than %zu bytes", option, argument, most_bytes);
	fprintf(stderr, "%s: %s: longer than %zu bytes, and cut there\n", tool_name, option, most_bytes);
}

/* mke2fs(8) has only the letter. */
void set_label(struct command *command, const struct taken_option *option)
{
	check_length(command, "--label", option->argument, EXT2_LABEL_LEN);
	mke2fs_arguments_add(&command->mke2fs, 'L', option->argument);
}

void set_mke2fs_option(struct command *command, const struct taken_option *option)
{
	const char letter = option->row->letter;
	const char *argument = option->argument;

	switch (letter) {
	case 'z':
		usage_error("-z records what mke2fs writes and no more, so it cannot be combined with -d");
	case 'n':
	case 'S':
		usage_error("-%c makes no filesystem, so it cannot be combined with -d", letter);
	case 'E':
		add_extended(command, argument);
		return;
	case 'F':
		command->force = true;
		break;
	case 'L':
		check_length(command, "-L", argument, EXT2_LABEL_LEN);
		break;
	case 'M':
		check_length(command, "-M", argument, MOUNT_POINT_BYTES);
		break;
	case 'U':
		command->options.uuid = argument;
		return;
	case 'c':
		command->options.bad_block_checks++;
		return;
	case 'b':
		command->options.block_size_given = true;
		break;
	case 't':
	case 'j':
		command->options.type_given = true;
		command->type_given = true;
		break;
	case 'J':
		command->type_given = true;
		break;
	case 'N':
		/* 0, which is Buildroot's default, asks mke2fs for its usual number. */
		if (strcmp(argument, "0") == 0)
			return;
		command->options.inodes_fixed = true;
		break;
	case 'T':
		command->options.usage_given = true;
		command->options.inodes_given = true;
		break;
	case 'i':
		command->options.inodes_given = true;
		break;
	}
	mke2fs_arguments_add(&command->mke2fs, letter, argument);
}
