/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2frag's options, and those that cannot be combined. */
#include "e2frag_options.h"

#include <stdlib.h>
#include <string.h>

#include "disk/source_limits_option.h"

#define MOST_PARTITIONS 1024
#define MOST_WORST 100000
#define MOST_DEPTH 1000
#define MOST_DECIMALS 2 /* as in JSON */
#define MOST_QUICK_SECONDS 86400
#define DEFAULT_QUICK_SECONDS 10
#define DEFAULT_BATCH_FILES 1000
#define PAGE_DIRECTORY_DEPTH 2 /* so that the map of directories has something in it */

static const char usage[] =
	"Usage: e2frag [options] IMAGE|DEVICE|LABEL=...|UUID=...\n"
	"       e2frag [options] IMAGE IMAGE...\n"
	"Shows how fragmented the files and the free space of an ext2, ext3 or ext4 filesystem are, without a mount.\n"
	"An image may be packed (gzip, zstd, xz, bzip2 ...), qcow2 or Android sparse; - is standard input.\n";

static const char *form_name(unsigned int index)
{
	return report_forms[index].name;
}

static void set_format(struct command *command, const struct taken_option *option)
{
	command->form = &report_forms[option->value];
}

static void set_json(struct command *command, const struct taken_option *option UNUSED)
{
	for (const struct report_form *form = report_forms; form->name; form++)
		if (form->print == form_json)
			command->form = form;
}

static void set_only(struct command *command, const struct taken_option *option)
{
	bool is_files = option->value;

	if (is_files ? command->options.without_files : command->options.without_free)
		usage_error("--only=free and --only=files leave nothing to show: give one of them, or neither");
	command->options.without_free = is_files;
	command->options.without_files = !is_files;
}

static void set_chunk(struct command *command, const struct taken_option *option)
{
	if (command->chunk_kilobytes & (command->chunk_kilobytes - 1))
		usage_error("-c: %s is not a power of two", option->argument);
}

/* "30" or "12.5": the score is compared as it is shown with that many decimals. */
static void set_max_score(struct command *command, const struct taken_option *option)
{
	const char *argument = option->argument;
	size_t digits = strspn(argument, "0123456789"), decimals = 0;
	bool has_point = argument[digits] == '.';

	if (has_point)
		decimals = strspn(argument + digits + 1, "0123456789");
	bool is_number = digits && has_point == (decimals > 0) && !argument[digits + has_point + decimals];

	if (is_number)
		command->max_score = strtod(argument, NULL);
	if (!is_number || decimals > MOST_DECIMALS || command->max_score > 100)
		usage_error("--max-score: %s is not a number from 0 to 100 with at most %u decimals", argument,
		            MOST_DECIMALS);
	command->score_decimals = (unsigned int)decimals;
}

/* The words are those of enum file_kind. */
static void set_list(struct command *command, const struct taken_option *option)
{
	static const enum file_kind kinds[] = { FILE_SCATTERED, FILE_SPARSE, FILE_SPLIT };

	command->options.lists = true;
	command->options.list_kind = kinds[option->value];
}

static void set_by_directory(struct command *command, const struct taken_option *option UNUSED)
{
	command->parts.by_directory = true;
}

static void set_unlink_cost(struct command *command, const struct taken_option *option UNUSED)
{
	command->parts.unlink = true;
}

static void set_predict(struct command *command, const struct taken_option *option UNUSED)
{
	command->options.predicts = true;
}

static void set_quick(struct command *command, const struct taken_option *option)
{
	if (!option->argument)
		command->options.quick_seconds = DEFAULT_QUICK_SECONDS;
}

static void set_limit(struct command *command, const struct taken_option *option)
{
	source_limits_read_unpacked(option->argument, &command->where.most_unpacked_bytes);
}

static const struct option_row options[] = {
	{ .heading = "What is shown" },
	{ .name = "format",
	  .argument = "FORM",
	  .kind = ARGUMENT_WORDS,
	  .word = form_name,
	  .set = set_format,
	  .help = "the form of the report (default: text; filefrag needs --path):\n" },
	{ .name = "json", .set = set_json, .help = "the same as --format=json" },
	{ .name = "only",
	  .argument = "PART",
	  .kind = ARGUMENT_WORDS,
	  .words = "free|files",
	  .set = set_only,
	  .help = "free or files: leave out the other" },
	{ .letter = 'c',
	  .argument = "KIB",
	  .kind = ARGUMENT_NUMBER,
	  .minimum = 1,
	  .maximum = UINT64_C(1) << 40,
	  FIELD(chunk_kilobytes),
	  .set = set_chunk,
	  .help = "also count the free chunks of KIB kibibytes, a power of two" },
	{ .name = "groups",
	  FIELD(parts.groups),
	  .help = "also show each block group's free space, as the kernel's mb_groups" },
	{ .name = "top",
	  .argument = "N",
	  .kind = ARGUMENT_NUMBER,
	  .maximum = MOST_WORST,
	  FIELD(options.worst_limit),
	  .help = "name the N worst files (default 10)" },
	{ .name = "by-directory",
	  .argument = "DEPTH",
	  .kind = ARGUMENT_NUMBER,
	  .is_optional = true,
	  .maximum = MOST_DEPTH,
	  FIELD(options.directory_depth),
	  .set = set_by_directory,
	  .help = "also show totals for directories, down to DEPTH (default 1) below the root" },
	{ .name = "unlink-cost",
	  .argument = "FILES",
	  .kind = ARGUMENT_NUMBER,
	  .is_optional = true,
	  .minimum = 1,
	  .maximum = UINT32_MAX,
	  FIELD(options.unlink_batch_files),
	  .set = set_unlink_cost,
	  .help = "also show which bitmaps deleting the files of each directory would write, in\n"
	          "transactions of FILES files (default 1000)" },
	{ .name = "predict",
	  .argument = "SIZE",
	  .kind = ARGUMENT_SIZE,
	  .is_optional = true,
	  .minimum = 1,
	  .maximum = INT64_MAX,
	  FIELD(options.deleted_bytes),
	  .set = set_predict,
	  .help = "also say what score mending the worst or all scattered files would bring, and what\n"
	          "free space deleting files of SIZE" },
	{ .name = "path",
	  .argument = "PATH",
	  .kind = ARGUMENT_TEXT,
	  FIELD(paths),
	  .help = "show the extents of one file; may be given several times; <N> is inode N" },
	{ .letter = 'v', FIELD(with_rows), .help = "with --path: a row for each extent" },
	{ .name = "list",
	  .argument = "KIND",
	  .kind = ARGUMENT_WORDS,
	  .words = "scattered|sparse|split",
	  .set = set_list,
	  .help = "instead print the paths of all files that are scattered, sparse or split, for\nother programs" },
	{ .letter = '0',
	  FIELD(ends_with_nul),
	  .help = "with --list: a NUL byte after each path, not a newline, as xargs -0 reads" },
	{ .name = "compare",
	  .argument = "OTHER",
	  .kind = ARGUMENT_IMAGE,
	  FIELD(compare),
	  .help = "show IMAGE and OTHER side by side instead; either may be what\n--json has written" },
	{ .name = "history",
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  FIELD(history),
	  .help = "also show how the figures have changed since FILE, which --json has written; may be\ngiven several "
	          "times" },
	AGAINST_ROWS,
	{ .name = "html",
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  FIELD(html),
	  .help = "also write a page with pictures, for browsers; with --compare of both" },
	{ .name = "quick",
	  .argument = "SECONDS",
	  .kind = ARGUMENT_NUMBER,
	  .is_optional = true,
	  .minimum = 1,
	  .maximum = MOST_QUICK_SECONDS,
	  FIELD(options.quick_seconds),
	  .set = set_quick,
	  .help = "read for SECONDS (default 10) at most, and 32 MiB for each of them; says what is\nleft out" },
	{ .name = "max-score",
	  .argument = "N",
	  .kind = ARGUMENT_TEXT,
	  .set = set_max_score,
	  .help = "exit with status 3 if e4defrag's score is above N, which may have decimals" },
	{ .heading = "Where the filesystem is" },
	{ .name = "offset",
	  .argument = "BYTES",
	  .kind = ARGUMENT_SIZE,
	  .maximum = INT64_MAX,
	  FIELD(where.offset_bytes),
	  .help = "it begins there" },
	{ .name = "partition",
	  .argument = "N",
	  .kind = ARGUMENT_NUMBER,
	  .minimum = 1,
	  .maximum = MOST_PARTITIONS,
	  FIELD(where.partition),
	  .help = "it is in this partition" },
	UNPACKED_LIMIT_ROW(set_limit),
	{ .heading = "Work and output" },
	THREADS_ROW(options.threads),
	PROGRESS_ROW(progress),
	{ 0 },
};

static const char examples[] =
	"\n"
	"Examples:\n"
	"  e2frag /dev/sda1                         a report that ends in a verdict\n"
	"  e2frag --json --max-score=30 root.img    for scripts: status 3 if e4defrag's score is above 30\n"
	"  e2frag --list=scattered -0 /dev/sda1 | sed -z s,^,/mnt, | xargs -0 e4defrag    of what is mounted there\n"
	"  e2frag --html=report.html --compare=new.img old.img    before and after, as a page\n";

static const struct command_line command_line = { .usage = usage, .tables = { options }, .epilogue = examples };

static bool shows_file(const struct report_form *form)
{
	return form->print_file;
}

static bool compares(const struct report_form *form)
{
	return form->compare;
}

/* A page goes only with a form that shows as much as the page does. */
static bool shows_all(const struct report_form *form)
{
	return form->print && form->has_free_space && form->has_files;
}

/* "text or json" */
static const char *forms_that(bool (*can)(const struct report_form *form))
{
	static char list[WORD_LIST_BYTES];
	const struct report_form *last = NULL;

	for (const struct report_form *form = report_forms; form->name; form++)
		last = can(form) ? form : last;
	for (const struct report_form *form = report_forms; form->name; form++)
		if (can(form))
			add_to_words(list, form->name, form == last);
	return list;
}

static void check_form(const struct command *command)
{
	const struct report_form *form = command->form;

	if (command->paths.count && !shows_file(form))
		usage_error("--path requires --format=%s", forms_that(shows_file));
	if (!command->paths.count && !form->print)
		usage_error("--format=%s requires --path=PATH", form->name);
	if (command->compare && (command->paths.count || !compares(form)))
		usage_error("--compare works only with %s output of whole filesystems", forms_that(compares));
	if (command->html && (command->paths.count || !shows_all(form)))
		usage_error("--html works only with %s output of a whole filesystem", forms_that(shows_all));
	if (command->html && strcmp(command->html, "-") == 0)
		usage_error("--html cannot write to standard output, where the %s goes: name a file (./- for one "
		            "called -)",
		            form->name);
	if (command->options.without_free && form->print && !form->has_files)
		usage_error("--format=%s shows free space, which --only=files leaves out", form->name);
	if (command->options.without_files && form->print && !form->has_free_space)
		usage_error("--format=%s shows files, which --only=free leaves out", form->name);
}

static void check_against(struct command *command)
{
	against_check(&command->against);
	if (!command->against.old)
		return;
	if (command->paths.count || !compares(command->form))
		usage_error("--against works only with %s output of a whole filesystem", forms_that(compares));
	if (command->compare)
		usage_error("--against compares blocks, and --compare reports: give one of them");
	if (command->options.quick_seconds)
		usage_error("--quick leaves out part of the filesystem, which --against needs");
}

static void check_list(const struct command *command)
{
	if (command->ends_with_nul && !command->options.lists)
		usage_error("-0 works only with --list");
	if (!command->options.lists)
		return;
	if (command->form != report_forms || command->paths.count || command->compare || command->against.old ||
	    command->history.count || command->html || command->options.predicts || command->name_count > 1)
		usage_error("--list prints nothing but the paths of one filesystem");
	if (command->options.without_files)
		usage_error("--list is about files, which --only=free leaves out");
	if (command->options.quick_seconds)
		usage_error("--quick leaves out directories, which --list needs");
}

static void check_history(const struct command *command)
{
	if (!command->history.count)
		return;
	if (command->paths.count || command->compare || !compares(command->form))
		usage_error("--history works only with %s output of a whole filesystem", forms_that(compares));
	if (command->options.quick_seconds)
		usage_error("--quick leaves out part of the figures, which --history needs");
}

static void check_predict(const struct command *command)
{
	const struct analyze_options *analysis = &command->options;

	if (!analysis->predicts)
		return;
	if (command->paths.count || command->compare || !compares(command->form))
		usage_error("--predict works only with %s output of a whole filesystem", forms_that(compares));
	if (analysis->without_files)
		usage_error("--predict is about files, which --only=free leaves out");
	if (analysis->deleted_bytes && analysis->without_free)
		usage_error("--predict=SIZE is about free space, which --only=files leaves out");
	if (analysis->quick_seconds)
		usage_error("--quick leaves out part of the files, which --predict needs");
}

static void check_command(struct command *command)
{
	check_predict(command);
	check_history(command);
	check_list(command);
	if (command->where.partition && command->where.offset_bytes)
		usage_error("--partition and --offset both say where the filesystem is: give one of them");
	check_form(command);
	check_against(command);
	if (command->options.quick_seconds && (command->paths.count || command->compare || command->html ||
	                                       command->parts.by_directory || command->parts.unlink))
		usage_error(
			"--quick leaves out part of the filesystem, which --path, --compare, --html, --by-directory "
			"and --unlink-cost need");
	if (command->parts.unlink && command->options.without_files)
		usage_error("--unlink-cost is about files, which --only=free leaves out");
	if (command->max_score != ANY_SCORE && command->options.without_files)
		usage_error("--max-score needs the files, which --only=free leaves out");
	if (command->max_score != ANY_SCORE && command->paths.count)
		usage_error("--max-score is the score of all files: it cannot be combined with --path");
}

static bool shows_several(const struct report_form *form)
{
	return form->print_all;
}

static void check_several(const struct command *command)
{
	if (!shows_several(command->form))
		usage_error("%s: several filesystems can be shown only as %s", command->names[1],
		            forms_that(shows_several));
	if (command->paths.count || command->compare || command->against.old || command->history.count || command->html)
		usage_error("%s: only one filesystem can be given with --path, --compare, --against, --history and "
		            "--html",
		            command->names[1]);
}

/* Chooses which parts of the filesystem need not be read. */
static void choose_parts(struct command *command)
{
	struct analyze_options *analysis = &command->options;

	if (!command->form->has_files && command->max_score == ANY_SCORE)
		analysis->without_files = true;
	if (!command->form->has_free_space || analysis->lists)
		analysis->without_free = true;
	if (analysis->lists)
		analysis->worst_limit = SIZE_MAX;
	analysis->with_groups = command->parts.groups || command->html;
	analysis->by_directory = command->parts.by_directory || command->html;
	analysis->predicts = analysis->predicts || (command->html && !analysis->without_files);
	if (command->html && !analysis->without_files && !analysis->without_free)
		analysis->map_cells = PAGE_MOST_CELLS;
	if (command->html && !command->parts.by_directory)
		analysis->directory_depth = PAGE_DIRECTORY_DEPTH;
	if (!command->parts.unlink && !command->html)
		analysis->unlink_batch_files = 0;
	command->parts.free_space = !analysis->without_free;
	command->parts.files = !analysis->without_files;
}

void command_parse(int argument_count, char **arguments, struct command *command)
{
	*command = (struct command){
		.progress = PROGRESS_AUTO,
		.form = report_forms,
		.options = { .worst_limit = 10,
		             .directory_depth = 1,
		             .unlink_batch_files = DEFAULT_BATCH_FILES,
		             .threads = default_threads() },
		.max_score = ANY_SCORE,
		.where.most_unpacked_bytes = SOURCE_LIMITS_UNPACKED_BYTES,
	};
	int next = command_line_read(&command_line, argument_count, arguments, command);

	if (next >= argument_count)
		usage_error("IMAGE is missing" SEE_HELP);
	command->name = arguments[next];
	command->names = arguments + next;
	command->name_count = (size_t)(argument_count - next);
	check_command(command);
	if (command->name_count > 1)
		check_several(command);
	choose_parts(command);
}

void command_free(struct command *command)
{
	free(command->paths.list);
	free(command->history.list);
}
