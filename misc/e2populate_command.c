// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading the command line: mke2fs(8)'s options are passed on, ours are rows of a table. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <ext2fs/ext2fs.h>
#include <ext2fs/ext2mb_version.h>

#include "e2populate_options.h"
#include "populate/format/extended_options.h"
#include "populate/output/android_sparse.h"
#include "source/source.h"
#include "standard_streams.h"
#include "support/text/units.h"
#include "support/vector.h"

static const char usage_text[] =
	"Usage: e2populate [mke2fs options] -d SOURCE [options] IMAGE [SIZE]\n"
	"Makes an ext2, ext3 or ext4 filesystem that holds SOURCE, with several threads.\n"
	"\n"
	"  -d SOURCE            the directory, the archive (tar, cpio, zip, also compressed; -: standard input; others\n"
	"                       as KIND:FILE: 7z, ar, cab, iso, lha, rar, rpm, warc, xar), the manifest (FILE.mtree,\n"
	"                       mtree:FILE) or the OCI image (oci:DIR[:REF]) to put into the filesystem; several are\n"
	"                       laid over each other, the last one on top\n"
	"  IMAGE                a file, made anew under a temporary name and renamed when whole, or a block device;\n"
	"                       called as mke2fs or mkfs.ext4, a file that exists is written in place\n"
	"  SIZE                 as mke2fs(8) reads it; without it a new file becomes just large enough, and what is\n"
	"                       written in place keeps its size\n";

static const char usage_end[] =
	"\n"
	"All options of mke2fs(8) are passed on to it (-t is ext4 unless -t or -j says otherwise), among them:\n"
	"  -t TYPE -b BLOCK-SIZE -I INODE-SIZE -N INODES -i BYTES-PER-INODE -m RESERVED-PERCENT -L LABEL -U UUID\n"
	"  -O FEATURES -E EXTENDED-OPTIONS -J JOURNAL-OPTIONS -T USAGE-TYPE -F (force) -q (quiet) -v (verbose)\n"
	"\n"
	"SOURCE_DATE_EPOCH, if set, makes the image depend on SOURCE and options alone, its UUID included.\n";

#define HELP_COLUMN 23

/* mke2fs(8)'s own and -h, so that one command line serves both. */
static const char short_options[] = "b:cd:e:g:hi:jl:m:no:qr:s:t:vz:C:DE:FG:I:J:KL:M:N:O:ST:U:V";

/* What getopt_long() returns for a row of the table: beyond every letter. */
#define FIRST_ROW 256

/* Inodes have 34 bits for times from 1901-12-13 to 2446-05-10. */
#define LAST_SECOND 0x37fffffffll

/* Of ext2_super_block's s_last_mounted. */
#define MOUNT_POINT_BYTES 64

static void out_of_memory(void)
{
	fputs("e2populate: out of memory\n", stderr);
	exit(EXIT_FAILURE);
}

static void pass_on(struct command *command, int option, const char *argument)
{
	char *text = NULL;

	if (vector_reserve(&command->mke2fs, &command->mke2fs_capacity, command->mke2fs_count + 2,
	                   sizeof(*command->mke2fs)))
		out_of_memory();
	if (asprintf(&text, "-%c%s", option, argument ? argument : "") < 0)
		out_of_memory();
	command->mke2fs[command->mke2fs_count++] = text;
	command->mke2fs[command->mke2fs_count] = NULL;
}

/* mke2fs heeds only its last -E: here they add up. */
static void add_extended(struct command *command, const char *argument)
{
	char *joined = NULL;

	if (asprintf(&joined, "%s%s%s", command->extended ? command->extended : "", command->extended ? "," : "",
	             argument) < 0)
		out_of_memory();
	free(command->extended);
	command->extended = joined;
}

static void add_source(struct command *command, const char *argument)
{
	struct populate_options *options = &command->options;
	bool is_input = source_is_standard_input(argument);

	if (source_names_nothing(argument))
		usage_error("-d %s: no file is named", argument);
	for (uint32_t i = 0; i < options->source_count; i++)
		if (is_input && source_is_standard_input(command->sources[i]))
			usage_error("-d %s: standard input can be read only once", argument);
	if (vector_reserve(&command->sources, &command->source_capacity, options->source_count + 1ul,
	                   sizeof(*command->sources)))
		out_of_memory();
	command->sources[options->source_count++] = argument;
	options->sources = command->sources;
}

/* The letter that does the same as a row of the table; 0: none does. */
static char letter_of(const struct option_row *row)
{
	static const char *const names[] = { "help", "version" };
	static const char letters[] = "hV";

	for (size_t letter = 0; letters[letter]; letter++)
		if (row->name && strcmp(row->name, names[letter]) == 0)
			return letters[letter];
	return 0;
}

static void print_row(const struct option_row *row)
{
	const char *line = row->help;
	char option[64];

	if (!row->help)
		return;
	if (!row->name) {
		printf("\n%s:\n", row->help);
		return;
	}
	char letter[] = { '-', letter_of(row), ',', '\0' };

	snprintf(option, sizeof(option), "  %3s --%s%s%s", letter[1] ? letter : "", row->name,
	         row->argument ? "=" : "", row->argument ? row->argument : "");
	/* A long one has a line of its own. */
	if (strlen(option) >= HELP_COLUMN) {
		puts(option);
		*option = '\0';
	}
	printf("%-*s", HELP_COLUMN, option);
	for (const char *end; (end = strchr(line, '\n')); line = end + 1)
		printf("%.*s\n%-*s", (int)(end - line), line, HELP_COLUMN, "");
	puts(line);
}

void command_print_help(void)
{
	fputs(usage_text, stdout);
	for (unsigned int row = 0; row < command_option_count; row++)
		print_row(&command_options[row]);
	fputs(usage_end, stdout);
}

void command_print_version(void)
{
	const char *version, *date;

	ext2fs_get_library_version(&version, &date);
	printf("e2populate %s\nUsing EXT2FS Library version %s, %s\n", EXT2MB_VERSION_STRING, version, date);
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

/* What getopt_long() returned is a row of the table, or its letter; NULL: it is mke2fs's own. */
static const struct option_row *row_of(int option)
{
	for (unsigned int row = 0; row < command_option_count; row++)
		if (option == FIRST_ROW + (int)row || option == letter_of(&command_options[row]))
			return &command_options[row];
	return NULL;
}

static void refuse_option(int option)
{
	switch (option) {
	case 'z':
		usage_error("-z records what mke2fs writes and no more, so it cannot be combined with -d");
	case 'n':
	case 'S':
		usage_error("-%c makes no filesystem, so it cannot be combined with -d", option);
	case '?':
		fputs("Try 'e2populate --help'.\n", stderr);
		exit(EXIT_USAGE);
	}
}

static void take_option(struct command *command, int option, const char *argument)
{
	const struct option_row *row = row_of(option);

	if (row) {
		row->take(command, argument);
		return;
	}
	refuse_option(option);
	switch (option) {
	case 'd':
		add_source(command, argument);
		return;
	case 'E':
		add_extended(command, argument);
		return;
	case 'q':
		command->quiet = true;
		return;
	case 'F':
		command->force = true;
		break;
	case 'L':
		check_length(command, option, argument, EXT2_LABEL_LEN);
		break;
	case 'M':
		check_length(command, option, argument, MOUNT_POINT_BYTES);
		break;
	case 'v':
		command->verbose = true;
		return;
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
	pass_on(command, option, argument);
}

/* The table as getopt_long() wants it; ends the program where there is no memory. */
static struct option *long_options(void)
{
	struct option *options = calloc(command_option_count + 1, sizeof(*options));
	size_t count = 0;

	if (!options)
		out_of_memory();
	for (unsigned int row = 0; row < command_option_count; row++)
		if (command_options[row].name)
			options[count++] = (struct option){
				.name = command_options[row].name,
				.has_arg = command_options[row].argument ? required_argument : no_argument,
				.val = FIRST_ROW + (int)row,
			};
	return options;
}

bool command_is_ours(int argument_count, char **arguments)
{
	SCOPE_FREE struct option *table = long_options();
	bool found = false;
	int option;

	opterr = 0;
	while ((option = getopt_long(argument_count, arguments, short_options, table, NULL)) != -1)
		found = found || option == 'd' || option >= FIRST_ROW || (option == '?' && optopt == 'd');
	opterr = 1;
	optind = 0;
	return found;
}

static void read_epoch(struct command *command)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	uint64_t epoch;

	if (!text || !*text)
		return;
	errcode_t error = units_parse_number(text, 0, LAST_SECOND, &epoch);

	if (error == ERANGE)
		usage_error("SOURCE_DATE_EPOCH: %s is after the last second that ext4 can store, %lld", text, LAST_SECOND);
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
		out_of_memory();
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
		out_of_memory();
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
	SCOPE_FREE struct option *table = long_options();
	int option;

	while ((option = getopt_long(argument_count, arguments, short_options, table, NULL)) != -1)
		take_option(command, option, optarg);
	if (!command->options.source_count)
		usage_error("-d SOURCE is missing (mke2fs(8) makes empty filesystems)");
	take_offset(command);
	take_android_sparse(command);
	if (command->is_mke2fs || command->type)
		command->options.in_place = true;
	/* mke2fs's own default is ext2, which nobody who makes images means. */
	if (!command->type_given && !command->is_mke2fs)
		pass_on(command, 't', command->type ? command->type : "ext4");
	if (command->quiet && command->progress == PROGRESS_AUTO)
		command->progress = PROGRESS_NONE;
	check_choice(command);
	if (optind == argument_count)
		usage_error("IMAGE is missing");
	command->options.image = arguments[optind++];
	if (optind < argument_count)
		command->options.size = arguments[optind++];
	if (optind < argument_count)
		usage_error("%s: nothing may follow SIZE", arguments[optind]);
	command->options.mke2fs = command->mke2fs;
	command->options.casefolded = command->casefolded;
	command->options.extended = command->extended;
	read_epoch(command);
}

void command_free(struct command *command)
{
	for (size_t option = 0; option < command->mke2fs_count; option++)
		free(command->mke2fs[option]);
	free(command->mke2fs);
	free(command->sources);
	free(command->casefolded);
	free(command->extended);
	exclude_destroy(command->exclude);
	owner_map_destroy(&command->owners);
}
