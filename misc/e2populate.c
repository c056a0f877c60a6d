// SPDX-License-Identifier: GPL-2.0-or-later
/* e2populate: options in, one report or one message out. All else is in lib/populate. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ext2fs/ext2fs.h>

#include "ext2fs/ext2mb_err.h"
#include "populate/extended.h"
#include "populate/populate.h"
#include "support/interrupt.h"
#include "support/units.h"
#include "support/vector.h"

#define EXIT_USAGE 2
#define MOST_THREADS 1024

static const char usage_text[] =
	"Usage: e2populate [mke2fs options] -d SOURCE [options] IMAGE [SIZE]\n"
	"Makes an ext2, ext3 or ext4 filesystem that holds the directory SOURCE, with several threads.\n"
	"\n"
	"  -d SOURCE            the directory to put into the filesystem; without -d, mke2fs(8) is run as it is\n"
	"  IMAGE                a file, made anew under a temporary name and renamed when whole, or a block device\n"
	"  SIZE                 as mke2fs(8) reads it; without it a new file becomes just large enough\n"
	"      --threads=N      how many threads work (default: the processors online; 0: none beside the main one)\n"
	"      --progress=STYLE auto (a bar on a terminal), bar, json or none\n"
	"      --help           this text\n"
	"      --version        versions of e2populate and of the library it uses\n"
	"\n"
	"All options of mke2fs(8) are passed on to it (-t is ext4 unless -t or -j says otherwise), among them:\n"
	"  -t TYPE -b BLOCK-SIZE -I INODE-SIZE -N INODES -i BYTES-PER-INODE -m RESERVED-PERCENT -L LABEL -U UUID\n"
	"  -O FEATURES -E EXTENDED-OPTIONS -J JOURNAL-OPTIONS -T USAGE-TYPE -F (force) -q (quiet) -v (verbose)\n"
	"\n"
	"SOURCE_DATE_EPOCH, if set, makes the image depend on SOURCE and options alone, its UUID included.\n";

/* mke2fs(8)'s own, so that one command line serves both. */
static const char short_options[] = "b:cd:e:g:i:jl:m:no:qr:s:t:vz:C:DE:FG:I:J:KL:M:N:O:ST:U:V";

enum long_option { OPTION_THREADS = 256, OPTION_PROGRESS, OPTION_HELP, OPTION_VERSION };

static const struct option long_options[] = {
	{ "threads", required_argument, NULL, OPTION_THREADS },
	{ "progress", required_argument, NULL, OPTION_PROGRESS },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

/* The command line. */
struct command {
	struct populate_options options;
	enum progress_style progress;
	bool quiet;
	bool type_given; /* or implied */
	char **mke2fs; /* what is passed on; the strings are owned */
	size_t mke2fs_count, mke2fs_capacity;
	char *extended;
};

__attribute__((format(printf, 1, 2), noreturn)) static void usage_error(const char *format, ...)
{
	va_list arguments;

	fputs("e2populate: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs("\nTry 'e2populate --help'.\n", stderr);
	exit(EXIT_USAGE);
}

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

static void print_version(void)
{
	const char *version, *date;

	ext2fs_get_library_version(&version, &date);
	printf("e2populate %s\nUsing EXT2FS Library version %s, %s\n", EXT2MB_VERSION, version, date);
}

static void set_threads(struct command *command, const char *argument)
{
	uint64_t threads;

	if (units_parse_number(argument, 0, MOST_THREADS, &threads))
		usage_error("--threads: %s is not a number from 0 to %d", argument, MOST_THREADS);
	command->options.threads = (unsigned int)threads;
}

static void take_option(struct command *command, int option, const char *argument)
{
	switch (option) {
	case OPTION_THREADS:
		set_threads(command, argument);
		return;
	case OPTION_PROGRESS:
		if (progress_parse_style(argument, &command->progress))
			usage_error("--progress: %s is not auto, bar, json or none", argument);
		return;
	case OPTION_HELP:
		fputs(usage_text, stdout);
		exit(EXIT_SUCCESS);
	case OPTION_VERSION:
	case 'V':
		print_version();
		exit(EXIT_SUCCESS);
	case 'd':
		if (command->options.source)
			usage_error("-d is given twice");
		command->options.source = argument;
		return;
	case 'E':
		add_extended(command, argument);
		return;
	case 'q':
		command->quiet = true;
		return;
	case 'v':
		command->options.verbose = true;
		break;
	case 'U':
		command->options.uuid = argument;
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
		command->options.inodes_fixed = true;
		break;
	case 'i':
	case 'T':
		command->options.inodes_given = true;
		break;
	case 'z':
		usage_error("-z records what mke2fs writes and no more, so it cannot be combined with -d");
	case 'n':
	case 'S':
		usage_error("-%c makes no filesystem, so it cannot be combined with -d", option);
	case '?':
		fputs("Try 'e2populate --help'.\n", stderr);
		exit(EXIT_USAGE);
	}
	pass_on(command, option, argument);
}

/* True if -d is among the options; says nothing of wrong ones. */
static bool has_source(int argument_count, char **arguments)
{
	bool found = false;
	int option;

	opterr = 0;
	while ((option = getopt_long(argument_count, arguments, short_options, long_options, NULL)) != -1)
		found = found || option == 'd' || option >= OPTION_THREADS || (option == '?' && optopt == 'd');
	opterr = 1;
	optind = 0;
	return found;
}

static void parse_command(int argument_count, char **arguments, struct command *command)
{
	int option;

	while ((option = getopt_long(argument_count, arguments, short_options, long_options, NULL)) != -1)
		take_option(command, option, optarg);
	if (!command->options.source)
		usage_error("-d SOURCE is missing");
	if (extended_has(command->extended, "offset"))
		usage_error("-E offset: the filesystem must begin where the image does");
	/* mke2fs's own default is ext2, which nobody who makes images means. */
	if (!command->type_given)
		pass_on(command, 't', "ext4");
	if (optind == argument_count)
		usage_error("IMAGE is missing");
	command->options.image = arguments[optind++];
	if (optind < argument_count)
		command->options.size = arguments[optind++];
	if (optind < argument_count)
		usage_error("%s: nothing may follow SIZE", arguments[optind]);
	command->options.mke2fs = command->mke2fs;
	command->options.extended = command->extended;
}

static void read_epoch(struct command *command)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	uint64_t epoch;

	if (!text || !*text)
		return;
	if (units_parse_number(text, 0, INT32_MAX * 8ull, &epoch))
		usage_error("SOURCE_DATE_EPOCH: %s is not a number of seconds", text);
	command->options.has_epoch = true;
	command->options.epoch = (int64_t)epoch;
}

static void print_report(const struct command *command, const struct populate_report *report)
{
	char image[UNITS_TEXT_BYTES], data[UNITS_TEXT_BYTES], free_space[UNITS_TEXT_BYTES];

	units_format_bytes(report->image_bytes, image);
	units_format_bytes(report->data_bytes, data);
	units_format_bytes(report->free_blocks * report->block_bytes, free_space);
	printf("%s: %s, of which %s are free\n", command->options.image, image, free_space);
	printf("%" PRIu64 " names, %" PRIu64 " inodes, %s of data\n", report->names, report->inodes, data);
	if (report->regular_files)
		printf("%" PRIu64 " files with data in %" PRIu64 " extents: %.3f extents per file\n",
		       report->regular_files, report->data_extents,
		       (double)report->data_extents / (double)report->regular_files);
	if (report->zero_blocks)
		printf("%" PRIu64 " blocks of zeros became holes\n", report->zero_blocks);
}

static void print_problem(struct problem *problem)
{
	SCOPE_FREE char *text = problem_text(problem);

	fprintf(stderr, "e2populate: %s\n", text ? text : "out of memory");
	problem_clear(problem);
}

static int run(struct command *command)
{
	struct problem problem = { 0 };
	struct populate_report report;
	errcode_t error = progress_start(stderr, command->progress, &command->options.progress);

	if (!error)
		error = populate(&command->options, &report, &problem);
	else
		problem_set(&problem, error, NULL, "cannot show progress");
	progress_end(command->options.progress);
	if (error) {
		print_problem(&problem);
		return EXIT_FAILURE;
	}
	if (report.skipped_image)
		fprintf(stderr, "e2populate: %s: lies in its own source and is left out of it\n",
		        command->options.image);
	if (!command->quiet)
		print_report(command, &report);
	return EXIT_SUCCESS;
}

static void free_command(struct command *command)
{
	for (size_t option = 0; option < command->mke2fs_count; option++)
		free(command->mke2fs[option]);
	free(command->mke2fs);
	free(command->extended);
}

/* Without -d this is mke2fs: whoever has put e2populate in its place keeps what they had. */
static int become_mke2fs(char **arguments)
{
	arguments[0] = (char *)"mke2fs";
	execvp("mke2fs", arguments);
	if (errno == ENOENT)
		execv("/usr/sbin/mke2fs", arguments);
	if (errno == ENOENT)
		execv("/sbin/mke2fs", arguments);
	fprintf(stderr, "e2populate: mke2fs: cannot run: %s\n", strerror(errno));
	return EXIT_FAILURE;
}

/* The image must not get the number of a standard stream that is closed: what is said would go into it. */
static void open_standard_streams(void)
{
	int descriptor;

	do {
		descriptor = open("/dev/null", O_RDWR);
	} while (descriptor >= 0 && descriptor <= STDERR_FILENO);
	if (descriptor >= 0)
		close(descriptor);
}

/* Every thread has up to four descriptors: the usual limit, 1024, is too low where there are 256 processors. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int main(int argument_count, char **arguments)
{
	struct command command = { .progress = PROGRESS_AUTO };
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	/* getopt(3) begins its messages with it. */
	if (argument_count < 2)
		usage_error("-d SOURCE and IMAGE are missing");
	arguments[0] = (char *)"e2populate";
	if (!has_source(argument_count, arguments))
		return become_mke2fs(arguments);
	open_standard_streams();
	raise_descriptor_limit();
	initialize_ext2_error_table();
	initialize_e2mb_error_table();
	command.options.threads = processors < 1 ? 1 : processors > MOST_THREADS ? MOST_THREADS :
	                                                                             (unsigned int)processors;
	parse_command(argument_count, arguments, &command);
	read_epoch(&command);
	interrupt_install();
	int status = run(&command);

	free_command(&command);
	return status;
}
