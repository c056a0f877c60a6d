/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2frag: options, one report, one message; the work is in lib/analyze. */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ext2fs/ext2fs.h>
#include <ext2fs/ext2mb_version.h>

#include "analyze/analyze.h"
#include "analyze/forms/file_extents.h"
#include "analyze/forms/forms.h"
#include "analyze/read/paths.h"
#include "e2frag_page.h"
#include "e2frag_subject.h"
#include "standard_streams.h"
#include "support/io/flush.h"
#include "support/work/interrupt.h"
#include "support/text/units.h"
#include "usage.h"

#define EXIT_SCORE 3
#define MOST_THREADS 1024
#define MOST_WORST 100000
#define MOST_DEPTH 1000
#define DEFAULT_BATCH_FILES 1000

const char tool_name[] = "e2frag";

static const char usage_text[] =
	"Usage: e2frag [options] IMAGE|DEVICE|LABEL=...|UUID=...\n"
	"Shows how fragmented the files and the free space of an ext2, ext3 or ext4 filesystem are, without a mount.\n"
	"\n"
	"      --format=FORM    text (default), json, e2freefrag, e4defrag; with --path also filefrag\n"
	"      --json           the same as --format=json\n"
	"      --only=PART      free or files: leave out the other\n"
	"  -c KIB               also count the free chunks of KIB kibibytes, a power of two\n"
	"      --groups         also show each block group's free space, as the kernel's mb_groups\n"
	"      --top=N          name the N worst files (default 10)\n"
	"      --by-directory[=DEPTH]\n"
	"                       also show totals for directories, down to DEPTH (default 1) below the root\n"
	"      --unlink-cost[=FILES]\n"
	"                       also show which bitmaps deleting the files of each directory would write, in\n"
	"                       transactions of FILES files (default 1000)\n"
	"      --path=PATH      show the extents of one file; may be given several times; <N> is inode N\n"
	"      --compare=OTHER  show IMAGE and OTHER side by side instead; either may be what\n"
	"                       --json has written\n"
	"      --html=FILE      also write a page with pictures, for browsers; with --compare of both\n"
	"  -v                   with --path: a row for each extent\n"
	"      --max-score=N    exit with status 3 if the score is above N\n"
	"      --offset=BYTES   the filesystem begins there\n"
	"      --partition=N    the filesystem is in this partition\n"
	"      --threads=N      how many threads work (default: the processors online; 0: none beside the main one)\n"
	"      --progress=STYLE auto (a bar on a terminal), bar, json or none\n"
	"  -h, --help           this text\n"
	"  -V, --version        versions of e2frag and of the library it uses\n";

enum form { FORM_TEXT, FORM_JSON, FORM_E2FREEFRAG, FORM_E4DEFRAG, FORM_FILEFRAG };

static const char *const form_names[] = { "text", "json", "e2freefrag", "e4defrag", "filefrag" };

enum long_option {
	OPTION_FORMAT = 256,
	OPTION_JSON,
	OPTION_ONLY,
	OPTION_GROUPS,
	OPTION_TOP,
	OPTION_BY_DIRECTORY,
	OPTION_UNLINK_COST,
	OPTION_PATH,
	OPTION_COMPARE,
	OPTION_HTML,
	OPTION_MAX_SCORE,
	OPTION_OFFSET,
	OPTION_PARTITION,
	OPTION_THREADS,
	OPTION_PROGRESS,
};

static const struct option long_options[] = {
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "only", required_argument, NULL, OPTION_ONLY },
	{ "groups", no_argument, NULL, OPTION_GROUPS },
	{ "top", required_argument, NULL, OPTION_TOP },
	{ "by-directory", optional_argument, NULL, OPTION_BY_DIRECTORY },
	{ "unlink-cost", optional_argument, NULL, OPTION_UNLINK_COST },
	{ "path", required_argument, NULL, OPTION_PATH },
	{ "compare", required_argument, NULL, OPTION_COMPARE },
	{ "html", required_argument, NULL, OPTION_HTML },
	{ "max-score", required_argument, NULL, OPTION_MAX_SCORE },
	{ "offset", required_argument, NULL, OPTION_OFFSET },
	{ "partition", required_argument, NULL, OPTION_PARTITION },
	{ "threads", required_argument, NULL, OPTION_THREADS },
	{ "progress", required_argument, NULL, OPTION_PROGRESS },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

/* The command line. */
struct command {
	const char *name;                                /* of the filesystem */
	const char *compare;                             /* of another one; NULL: none */
	const char *html;                                /* file for the page; NULL: none */
	bool show_groups, show_directories, show_unlink; /* in the form itself; a page has all */
	struct analyze_options options;
	enum progress_style progress;
	enum form form;
	const char **paths; /* as many as there are arguments */
	size_t path_count;
	bool with_rows;
	uint64_t chunk_kilobytes;
	bool has_max_score;
	uint64_t max_score;
	uint64_t offset_bytes;
	unsigned int partition;
	errcode_t output_error; /* why the report could not be written; 0: it could, or nothing has noticed yet */
};

static uint64_t number_of(const char *option, const char *argument, uint64_t minimum, uint64_t maximum)
{
	uint64_t number;

	if (units_parse_number(argument, minimum, maximum, &number))
		usage_error("%s: %s is not a number from %" PRIu64 " to %" PRIu64, option, argument, minimum, maximum);
	return number;
}

static void set_form(struct command *command, const char *name)
{
	for (size_t form = 0; form < sizeof(form_names) / sizeof(*form_names); form++) {
		if (!strcmp(name, form_names[form])) {
			command->form = (enum form)form;
			return;
		}
	}
	usage_error("--format: %s is not text, json, e2freefrag, e4defrag or filefrag", name);
}

static void set_only(struct command *command, const char *part)
{
	if (!strcmp(part, "free"))
		command->options.without_files = true;
	else if (!strcmp(part, "files"))
		command->options.without_free = true;
	else
		usage_error("--only: %s is not free or files", part);
}

static void print_version(void)
{
	const char *version, *date;

	ext2fs_get_library_version(&version, &date);
	printf("e2frag %s\nUsing EXT2FS Library version %s, %s\n", EXT2MB_VERSION_STRING, version, date);
}

static void take_common_option(struct command *command, int option, const char *argument)
{
	switch (option) {
	case OPTION_OFFSET:
		if (units_parse_bytes(argument, 1, &command->offset_bytes) || command->offset_bytes > INT64_MAX)
			usage_error("--offset: %s is not a number of bytes", argument);
		return;
	case OPTION_PARTITION:
		command->partition = (unsigned int)number_of("--partition", argument, 1, 1024);
		return;
	case OPTION_THREADS:
		command->options.threads = (unsigned int)number_of("--threads", argument, 0, MOST_THREADS);
		return;
	case OPTION_PROGRESS:
		if (progress_parse_style(argument, &command->progress))
			usage_error("--progress: %s is not auto, bar, json or none", argument);
		return;
	case 'h':
		fputs(usage_text, stdout);
		exit_after_printing("e2frag");
	case 'V':
		print_version();
		exit_after_printing("e2frag");
	default:
		fputs("Try 'e2frag --help'.\n", stderr);
		exit(EXIT_USAGE);
	}
}

static void take_option(struct command *command, int option, const char *argument)
{
	switch (option) {
	case OPTION_FORMAT:
		set_form(command, argument);
		return;
	case OPTION_JSON:
		command->form = FORM_JSON;
		return;
	case OPTION_ONLY:
		set_only(command, argument);
		return;
	case OPTION_GROUPS:
		command->show_groups = true;
		return;
	case 'c':
		command->chunk_kilobytes = number_of("-c", argument, 1, UINT64_C(1) << 40);
		if (command->chunk_kilobytes & (command->chunk_kilobytes - 1))
			usage_error("-c: %s is not a power of two", argument);
		return;
	case OPTION_TOP:
		command->options.worst_limit = number_of("--top", argument, 0, MOST_WORST);
		return;
	case OPTION_BY_DIRECTORY:
		command->show_directories = true;
		command->options.directory_depth =
			argument ? (unsigned int)number_of("--by-directory", argument, 0, MOST_DEPTH) : 1;
		return;
	case OPTION_UNLINK_COST:
		command->show_unlink = true;
		command->options.unlink_batch_files =
			argument ? (uint32_t)number_of("--unlink-cost", argument, 1, UINT32_MAX) : DEFAULT_BATCH_FILES;
		return;
	case OPTION_PATH:
		command->paths[command->path_count++] = argument;
		return;
	case OPTION_COMPARE:
		command->compare = argument;
		return;
	case OPTION_HTML:
		command->html = argument;
		return;
	case 'v':
		command->with_rows = true;
		return;
	case OPTION_MAX_SCORE:
		command->has_max_score = true;
		command->max_score = number_of("--max-score", argument, 0, 100);
		return;
	default:
		take_common_option(command, option, argument);
	}
}

static void check_command(struct command *command)
{
	struct analyze_options *options = &command->options;

	if (options->without_free && options->without_files)
		usage_error("--only: it is either free or files");
	if (command->partition && command->offset_bytes)
		usage_error("--partition and --offset: one of them says where the filesystem is");
	if (command->path_count && command->form != FORM_TEXT && command->form != FORM_FILEFRAG)
		usage_error("--path: the form is filefrag");
	if (command->compare && (command->path_count || (command->form != FORM_TEXT && command->form != FORM_JSON)))
		usage_error("--compare: shows text or JSON, of whole filesystems");
	if (command->html && (command->path_count || (command->form != FORM_TEXT && command->form != FORM_JSON)))
		usage_error("--html: is beside text or JSON, of whole filesystems");
	if (command->html && strcmp(command->html, "-") == 0)
		usage_error("--html: standard output has the text or JSON; name a file (./- if it is to be called so)");
	if (!command->path_count && command->form == FORM_FILEFRAG)
		usage_error("--format=filefrag: --path=PATH is missing");
	if (command->form == FORM_E2FREEFRAG && options->without_free)
		usage_error("--format=e2freefrag: is about the free space");
	if (command->form == FORM_E4DEFRAG && options->without_files)
		usage_error("--format=e4defrag: is about files");
	if (command->show_unlink && options->without_files)
		usage_error("--unlink-cost: is about files");
	if (command->has_max_score && options->without_files)
		usage_error("--max-score: the score is about files");
	if (command->has_max_score && command->path_count)
		usage_error("--max-score: the score is that of all files, not of --path");
	if (command->form == FORM_E2FREEFRAG && !command->has_max_score)
		options->without_files = true;
	if (command->form == FORM_E4DEFRAG)
		options->without_free = true;
	options->with_groups = command->show_groups || command->html;
	options->by_directory = command->show_directories || command->html;
	if (!command->show_unlink && !command->html)
		options->unlink_batch_files = 0;
}

static void parse_command(int argument_count, char **arguments, struct command *command)
{
	int option;

	while ((option = getopt_long(argument_count, arguments, "c:hvV", long_options, NULL)) != -1)
		take_option(command, option, optarg);
	if (optind == argument_count)
		usage_error("IMAGE is missing");
	command->name = arguments[optind++];
	if (optind < argument_count)
		usage_error("%s: nothing may follow the filesystem", arguments[optind]);
	check_command(command);
}

/* What is damaged has been counted and left out. */
static int print_damage(const struct subject *subject)
{
	const struct report *report = subject->report;
	struct problem problem = { 0 };

	if (!report || !report->damage_count)
		return EXIT_SUCCESS;
	problem_set_reason(&problem, EXT2_ET_CORRUPT_SUPERBLOCK, subject->volume.path, "cannot read all of it",
	                   "%" PRIu64 " left out:", report->damage_count);
	print_problem(&problem);
	form_damage(report, "  ", stderr);
	return EXIT_FAILURE;
}

static void copy_damage(const struct damage_list *damage, struct report *report)
{
	report->damage_count = damage->count;
	for (unsigned int n = 0; n < damage->kept; n++)
		report->damage[n] = damage->first[n];
}

static int print_paths(const struct command *command, struct subject *subject)
{
	const struct volume *volume = &subject->volume;
	struct problem problem = { 0 };
	struct damage_list damage = { 0 };
	int status = EXIT_SUCCESS;

	for (size_t n = 0; n < command->path_count; n++) {
		const char *path = command->paths[n];
		uint32_t ino;
		errcode_t error = paths_lookup(volume, path, &damage, &ino);

		if (!error)
			error = file_extents_print(volume, ino, path, command->with_rows, &damage, stdout);
		if (error) {
			problem_set(&problem, error, path, "cannot show its extents");
			status = print_problem(&problem);
		}
	}
	copy_damage(&damage, subject->report);
	return status ? status : print_damage(subject);
}

static struct form_parts parts_of(const struct command *command)
{
	return (struct form_parts){
		.free_space = !command->options.without_free,
		.files = !command->options.without_files,
		.groups = command->show_groups,
		.by_directory = command->show_directories,
		.unlink = command->show_unlink,
	};
}

static int print_report(struct command *command, const struct report *report)
{
	struct form_parts parts = parts_of(command);
	struct problem problem = { 0 };

	if (command->html && page_write(command->html, report, NULL, &parts, &problem))
		return print_problem(&problem);

	switch (command->form) {
	case FORM_JSON:
		command->output_error = form_json(report, &parts, stdout);
		break;
	case FORM_E2FREEFRAG:
		form_e2freefrag(report, stdout);
		break;
	case FORM_E4DEFRAG:
		form_e4defrag(report, stdout);
		break;
	case FORM_TEXT:
	case FORM_FILEFRAG:
		form_text(report, &parts, stdout);
		break;
	}
	return EXIT_SUCCESS;
}

static void set_chunk(struct command *command, const struct report_filesystem *filesystem)
{
	command->options.chunk_blocks = command->chunk_kilobytes * 1024 / filesystem->block_bytes;
	if (command->chunk_kilobytes && command->options.chunk_blocks < filesystem->cluster_blocks)
		usage_error("-c: a chunk is at least a block (with bigalloc, a cluster)");
}

static errcode_t analyze_subject(struct command *command, struct subject *subject, struct problem *problem)
{
	if (subject->is_saved)
		return 0;
	errcode_t error = progress_start(stderr, command->progress, &command->options.progress);

	if (error)
		return problem_set(problem, error, NULL, "cannot show progress");
	set_chunk(command, &subject->report->filesystem);
	/* What follows writes to where reading may stop for long: there a signal ends us at once, as usual. */
	interrupt_install();
	error = analyze(&subject->volume, &command->options, subject->report, problem);
	interrupt_uninstall();
	progress_end(command->options.progress);
	if (error)
		interrupt_explain(command->name, problem);
	return error;
}

/* A saved report has what it was asked for when it was made. */
static errcode_t take_figures(const struct command *command, const struct subject *subject, const char *name,
                              struct compared *compared, struct problem *problem)
{
	*compared = (struct compared){ .report = subject->report, .saved = subject->saved.text };
	if (!subject->is_saved) {
		figures_take(subject->report, &compared->figures);
		return 0;
	}
	compared->figures = subject->saved.figures;
	if (command->html)
		return problem_set_reason(problem, EINVAL, name, "cannot make a page",
		                          "a saved report has not all that is shown");
	if (!compared->figures.has_free_space && !command->options.without_free)
		return problem_set_reason(problem, EINVAL, name, "cannot compare",
		                          "it says nothing of free space: take --only=files");
	if (!compared->figures.has_files && !command->options.without_files)
		return problem_set_reason(problem, EINVAL, name, "cannot compare",
		                          "it says nothing of files: take --only=free");
	return 0;
}

static errcode_t print_comparison(struct command *command, const struct subject *first,
                                  const struct subject *second, struct problem *problem)
{
	struct form_parts parts = parts_of(command);
	struct compared before, after;
	errcode_t error = take_figures(command, first, command->name, &before, problem);

	if (!error)
		error = take_figures(command, second, command->compare, &after, problem);
	if (!error && command->html)
		error = page_write(command->html, first->report, second->report, &parts, problem);
	if (error)
		return error;
	if (command->form == FORM_JSON)
		command->output_error = form_compare_json(&before, &after, &parts, stdout);
	else
		form_compare(&before.figures, &after.figures, &parts, stdout);
	return 0;
}

static int compare(struct command *command, const struct subject *subject)
{
	struct problem problem = { 0 };
	struct subject other;
	errcode_t error = subject_open(command->compare, 0, 0, true, &other, &problem);

	if (!error)
		error = analyze_subject(command, &other, &problem);
	if (!error)
		error = print_comparison(command, subject, &other, &problem);
	int status = error ? print_problem(&problem) : print_damage(&other);

	subject_close(&other);
	return status;
}

static int analyze_and_print(struct command *command, struct subject *subject)
{
	struct problem problem = { 0 };
	const struct report *report = subject->report;

	if (analyze_subject(command, subject, &problem))
		return print_problem(&problem);
	int status = command->compare ? compare(command, subject) : print_report(command, report);

	if (print_damage(subject))
		status = EXIT_FAILURE;
	double score = subject->is_saved ? figures_score(&subject->saved.figures) : report->verdict.score;

	if (!status && command->has_max_score && (uint64_t)(score + 0.5) > command->max_score)
		status = EXIT_SCORE;
	return status;
}

static int run(struct command *command)
{
	struct problem problem = { 0 };
	struct subject subject;
	int status;

	bool may_be_saved = command->compare;

	if (subject_open(command->name, command->offset_bytes, command->partition, may_be_saved, &subject, &problem))
		status = print_problem(&problem);
	else if (command->path_count)
		status = print_paths(command, &subject);
	else
		status = analyze_and_print(command, &subject);
	subject_close(&subject);
	errcode_t error = command->output_error ? command->output_error : flush_output(stdout);

	if (!error)
		return status;
	problem_set(&problem, error, "standard output", "cannot write");
	return print_problem(&problem);
}

int main(int argument_count, char **arguments)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	SCOPE_FREE const char **paths = calloc((size_t)argument_count + 1, sizeof(*paths));
	struct analyze_options default_options = {
		.worst_limit = 10,
		.directory_depth = 1,
		.unlink_batch_files = DEFAULT_BATCH_FILES,
	};
	struct command command = { .progress = PROGRESS_AUTO, .options = default_options, .paths = paths };

	standard_streams_open();
	if (!paths) {
		fputs("e2frag: out of memory\n", stderr);
		return EXIT_FAILURE;
	}
	/* getopt(3) begins its messages with it. */
	if (argument_count)
		arguments[0] = (char *)"e2frag";
	initialize_ext2_error_table();
	command.options.threads = processors < 1            ? 1 :
	                          processors > MOST_THREADS ? MOST_THREADS :
	                                                      (unsigned int)processors;
	parse_command(argument_count, arguments, &command);
	int status = run(&command);

	interrupt_die();
	return status;
}
