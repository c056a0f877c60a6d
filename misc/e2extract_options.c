/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2extract's options, and what cannot be combined. */
#include "e2extract_options.h"

#include <string.h>

#include "list_inputs_option.h"
#include "disk/source_limits_option.h"

static const char usage[] =
	"Usage: e2extract [options] -o DIR|FILE.tar[.gz|.zst]|FILE.mtree|- IMAGE [PATH]...\n"
	"       e2extract --list [options] IMAGE [PATH]...\n"
	"Takes files out of an ext2, ext3 or ext4 image, without a mount: all of them, or PATHs with what is below.\n";

#define FORM_WORDS "tar|mtree|dir"
/* For digests of holes. */
#define HOLE_SECONDS 30

enum form_word { FORM_TAR, FORM_MTREE, FORM_DIRECTORY, FORM_BY_NAME };

static void set_format(struct command *command, const struct taken_option *option)
{
	command->form_word = (unsigned int)option->value;
}

static void set_list_inputs(struct command *command, const struct taken_option *option)
{
	(void)option;
	command->lists_inputs = true;
}

static void set_limit(struct command *command, const struct taken_option *option)
{
	source_limits_read(option->argument, &command->limits);
	/* A user who says how much may be unpacked has the time for it. */
	if (strstr(option->argument, "unpacked="))
		command->options.hole_seconds = 0;
}

static const struct option_row options[] = {
	{ .heading = "What is made" },
	{ .name = "output",
	  .letter = 'o',
	  .argument = "NAME",
	  .kind = ARGUMENT_FILE,
	  FIELD(output),
	  .help = "a directory, which is made if it is not there; or, by the end of its name, a\n"
	          "file: .tar, .tar.gz, .tgz, .tar.zst, .tzst or .mtree; - is tar on standard output" },
	{ .name = "directory",
	  .letter = 'C',
	  .argument = "DIR",
	  .kind = ARGUMENT_DIRECTORY,
	  FIELD(directory),
	  .help = "a directory, whatever its name" },
	{ .name = "format",
	  .argument = "FORM",
	  .kind = ARGUMENT_WORDS,
	  .words = FORM_WORDS,
	  .set = set_format,
	  .help = "tar, mtree or dir, whatever the name of the output" },
	{ .name = "list", .letter = 't', FIELD(is_list), .help = "only list the files, as tar(1) does with tv" },
	{ .name = "json", FIELD(is_json), .help = "with --list: as JSON" },
	{ .name = "force",
	  FIELD(options.has_force),
	  .help = "into a directory that is not empty: put files in the place of those that\nare there" },
	{ .name = "strict",
	  FIELD(options.is_strict),
	  .help = "fail if the output cannot hold all that the image has of the files" },
	{ .heading = "Where the filesystem is" },
	{ .name = "offset",
	  .argument = "BYTES",
	  .kind = ARGUMENT_SIZE,
	  .maximum = INT64_MAX,
	  FIELD(offset_bytes),
	  .help = "it begins there in IMAGE" },
	{ .name = "limit",
	  .argument = "LIST",
	  .kind = ARGUMENT_TEXT,
	  .words = SOURCE_LIMITS_WORDS,
	  .set = set_limit,
	  .help = "how much an image may hold: names=N (20000000), metadata=SIZE (no limit),\n"
	          "unpacked=SIZE (1T); none for a limit takes it away" },
	{ .heading = "Work and messages" },
	THREADS_ROW(threads),
	PROGRESS_ROW(progress),
	{ .name = "report",
	  .argument = "FORM",
	  .kind = ARGUMENT_WORDS,
	  .words = "text|json",
	  FIELD(has_report),
	  .help = "json: what was done, on standard output" },
	LIST_INPUTS_ROW,
	{ .name = "quiet",
	  .letter = 'q',
	  FIELD(is_quiet),
	  .help = "say nothing of what the output cannot hold, and show no progress" },
	{ .name = "verbose", .letter = 'v', FIELD(is_verbose), .help = "name each file of which that is said" },
	{ 0 },
};

static const char examples[] = "\n"
			       "Examples:\n"
			       "  e2extract -o root root.img               all files into the directory root\n"
			       "  e2extract -o etc.tar.gz root.img /etc    one of its directories\n"
			       "  e2extract -o - root.img | tar -tv        to another program\n"
			       "  e2extract --list root.img                what is in it\n";

static const struct command_line command_line = { .usage = usage, .tables = { options }, .epilogue = examples };

/* Forms that the end of a name says. */
static const struct {
	const char *end;
	enum form_word form;
	enum extract_packing packing;
} ends[] = {
	{ ".tar", FORM_TAR, EXTRACT_PLAIN }, { ".tar.gz", FORM_TAR, EXTRACT_GZIP },
	{ ".tgz", FORM_TAR, EXTRACT_GZIP },  { ".tar.zst", FORM_TAR, EXTRACT_ZSTD },
	{ ".tzst", FORM_TAR, EXTRACT_ZSTD }, { ".mtree", FORM_MTREE, EXTRACT_PLAIN },
};

static bool ends_in(const char *text, const char *end)
{
	size_t bytes = strlen(text), end_bytes = strlen(end);

	return bytes > end_bytes && !strcmp(text + bytes - end_bytes, end);
}

static void choose_form(struct command *command)
{
	static const enum extract_form forms[] = {
		[FORM_TAR] = EXTRACT_TAR, [FORM_MTREE] = EXTRACT_MTREE, [FORM_DIRECTORY] = EXTRACT_DIRECTORY
	};
	unsigned int form = strcmp(command->output, "-") ? FORM_DIRECTORY : FORM_TAR;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends_in(command->output, ends[i].end)) {
			form = ends[i].form;
			command->options.packing = ends[i].packing;
		}
	if (command->form_word != FORM_BY_NAME)
		form = command->form_word;
	if (form == FORM_DIRECTORY && !strcmp(command->output, "-"))
		usage_error("--format=dir cannot write to standard output: name a directory (./- for one called -)");
	command->options.form = forms[form];
}

static void check_list(struct command *command)
{
	if (command->output || command->directory || command->form_word != FORM_BY_NAME)
		usage_error("--list writes to standard output, and has a form of its own: -o, -C and --format do not "
		            "go with it");
	if (command->options.has_force || command->options.is_strict)
		usage_error("--list makes no files: --force and --strict do not go with it");
	command->output = "-";
	command->options.form = command->is_json ? EXTRACT_LIST_JSON : EXTRACT_LIST;
}

static void check_command(struct command *command)
{
	if (command->is_json && !command->is_list)
		usage_error("--json is a form of --list");
	if (command->is_quiet && command->is_verbose)
		usage_error("-q and -v contradict each other");
	if (command->has_report && (command->is_list || (command->output && !strcmp(command->output, "-"))))
		usage_error("--report=json goes to standard output, and so do the files: name an output with -o");
	if (command->is_list) {
		check_list(command);
		return;
	}
	if (command->output && command->directory)
		usage_error("-o and -C both say where the files go: give one of them");
	if (!command->output && !command->directory)
		usage_error("-o is missing: it says where the files go (--list shows what there is)");
	if (command->directory && command->form_word != FORM_BY_NAME && command->form_word != FORM_DIRECTORY)
		usage_error("-C makes a directory: --format says something else");
	if (command->directory) {
		command->output = command->directory;
		command->form_word = FORM_DIRECTORY;
	}
	choose_form(command);
	if (command->options.has_force && command->options.form != EXTRACT_DIRECTORY)
		usage_error("--force is for directories: a file is replaced once the new one is whole");
}

void command_parse(int argument_count, char **arguments, struct command *command)
{
	*command = (struct command){
		.progress = PROGRESS_AUTO,
		.form_word = FORM_BY_NAME,
		.threads = default_threads(),
		.limits = { .path_bytes = SOURCE_LIMITS_PATH_BYTES,
		            .names = SOURCE_LIMITS_NAMES,
		            .unpacked_bytes = SOURCE_LIMITS_UNPACKED_BYTES },
		.options.hole_seconds = HOLE_SECONDS,
	};
	int next = command_line_read(&command_line, argument_count, arguments, command);

	if (next >= argument_count)
		usage_error("IMAGE is missing" SEE_HELP);
	command->image = arguments[next++];
	command->options.paths = arguments + next;
	command->options.path_count = (size_t)(argument_count - next);
	check_command(command);
	command->options.output = command->output;
	command->options.names_losses = command->is_verbose;
	/* zstd packs otherwise with one thread than with more, and with these always in the same way, on every host. */
	command->options.pack_threads = command->threads == 1 ? 2 : command->threads;
	if (command->is_quiet && command->progress == PROGRESS_AUTO)
		command->progress = PROGRESS_NONE;
}
