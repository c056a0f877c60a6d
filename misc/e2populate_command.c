// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading the command line: mke2fs(8)'s options are passed on, ours go where their rows say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "e2populate_options.h"
#include "populate/format/extended_options.h"
#include "populate/output/android_sparse.h"
#include "support/text/units.h"

static const char usage[] =
	"Usage: e2populate [mke2fs options] -d SOURCE [options] IMAGE [SIZE]\n"
	"Makes an ext2, ext3 or ext4 filesystem that holds SOURCE, with several threads.\n"
	"\n"
	"  IMAGE                a file, made anew under a temporary name and renamed when whole, or a block device;\n"
	"                       called as mke2fs or mkfs.ext4, a file that exists is written in place\n"
	"  SIZE                 as mke2fs(8) reads it; without it a new file becomes just large enough, and what is\n"
	"                       written in place keeps its size\n";

static const char epilogue[] =
	"\n"
	"-t is ext4 unless -t or -j says otherwise.\n"
	"SOURCE_DATE_EPOCH, if set, makes the image depend on SOURCE and options alone, its UUID included.\n";

static const struct command_line command_line = {
	.usage = usage,
	.tables = { e2populate_options, mke2fs_options, other_mke2fs_options },
	.epilogue = epilogue,
};

/* Inodes have 34 bits for times from 1901-12-13 to 2446-05-10. */
#define LAST_SECOND 0x37fffffffll

/* Of ext2_super_block's s_last_mounted. */
#define MOUNT_POINT_BYTES 64

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

/* mke2fs cuts them: with a warning that is not shown here, or without one. */
static void check_length(const struct command *command, int option, const char *argument, size_t most_bytes)
{
	if (strlen(argument) <= most_bytes)
		return;
	if (!is_stand_in(command))
		usage_error("-%c: %s is longer than %zu bytes", option, argument, most_bytes);
	fprintf(stderr, "e2populate: -%c: longer than %zu bytes, and cut there\n", option, most_bytes);
}

void take_mke2fs_option(struct command *command, const struct taken_option *option)
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
		check_length(command, letter, argument, EXT2_LABEL_LEN);
		break;
	case 'M':
		check_length(command, letter, argument, MOUNT_POINT_BYTES);
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
	case 'J':
		command->type_given = true;
		break;
	case 'N':
		/* For mke2fs 0 is as many as usual; Buildroot's default. */
		if (strcmp(argument, "0") == 0)
			return;
		command->options.inodes_fixed = true;
		break;
	case 'i':
	case 'T':
		command->options.inodes_given = true;
		break;
	}
	mke2fs_arguments_add(&command->mke2fs, letter, argument);
}

static bool is_ours(const struct option_row *row, bool is_by_name)
{
	return is_by_name || row->letter == 'd';
}

bool command_is_ours(int argument_count, char **arguments)
{
	return command_line_has(&command_line, argument_count, arguments, is_ours);
}

static void read_epoch(struct command *command)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	uint64_t epoch;

	if (!text || !*text)
		return;
	errcode_t error = units_parse_number(text, 0, LAST_SECOND, &epoch);

	if (error == ERANGE)
		usage_error("SOURCE_DATE_EPOCH: %s is after the last second that ext4 can store, %lld", text,
		            LAST_SECOND);
	if (error)
		usage_error("SOURCE_DATE_EPOCH: %s is not a number of seconds", text);
	command->options.has_epoch = true;
	command->options.epoch = (int64_t)epoch;
}

/* -E offset concerns mke2fs only when the image itself is formatted, and not where sizes are tried. */
static void take_offset(struct command *command)
{
	SCOPE_FREE char *value = NULL;
	char *others;

	if (!extended_has(command->extended, "offset"))
		return;
	if (extended_value(command->extended, "offset", &value) ||
	    extended_without(command->extended, "offset", &others))
		exit_without_memory();
	if (units_parse_bytes(value, 1, &command->options.offset_bytes) || command->options.offset_bytes > INT64_MAX)
		usage_error("-E offset: %s is not a number of bytes", value);
	free(command->extended);
	command->extended = others;
	if (!*others)
		free(TAKE(command->extended));
}

/* Ours: mke2fs as Debian builds it cannot write that format. */
static void take_android_sparse(struct command *command)
{
	char *others;

	if (!extended_has(command->extended, "android_sparse"))
		return;
	if (command->options.offset_bytes)
		usage_error("-E android_sparse: there is no offset in a sparse image");
	if (extended_without(command->extended, "android_sparse", &others))
		exit_without_memory();
	free(command->extended);
	command->extended = others;
	if (command->options.in_place)
		usage_error("--in-place: an Android sparse image is always a new file");
	command->options.form = &android_sparse;
	if (!*others)
		free(TAKE(command->extended));
}

void command_parse(int argument_count, char **arguments, struct command *command)
{
	int next = command_line_read(&command_line, argument_count, arguments, command);

	if (!command->options.source_count)
		usage_error("-d SOURCE is missing (mke2fs(8) makes empty filesystems)");
	take_offset(command);
	take_android_sparse(command);
	if (is_stand_in(command))
		command->options.in_place = true;
	/* mke2fs's own default is ext2, which is hardly what users want. */
	if (!command->type_given && !command->is_mke2fs)
		mke2fs_arguments_add(&command->mke2fs, 't', command->type ? command->type : "ext4");
	if (command->quiet && command->progress == PROGRESS_AUTO)
		command->progress = PROGRESS_NONE;
	check_choice(command);
	if (next >= argument_count)
		usage_error("IMAGE is missing");
	command->options.image = arguments[next++];
	if (next < argument_count)
		command->options.size = arguments[next++];
	if (next < argument_count)
		usage_error("%s: nothing may follow SIZE", arguments[next]);
	command->options.mke2fs = command->mke2fs.list;
	command->options.casefolded = command->casefolded;
	command->options.extended = command->extended;
	read_epoch(command);
}

void command_free(struct command *command)
{
	mke2fs_arguments_free(&command->mke2fs);
	free(command->sources);
	free(command->casefolded);
	free(command->extended);
	exclude_destroy(command->exclude);
	owner_map_destroy(&command->owners);
}
