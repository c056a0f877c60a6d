/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2allocsim's command line: options of all workloads, of one workload, and of mke2fs(8) for a new image. */
#include "e2allocsim_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disk/source_limits_option.h"
#include "compare/tunables.h"
#include "compare/user_library.h"
#include "e2allocsim_compared.h"
#include "command/help.h"
#include "simulate/results/shown.h"
#include "support/text/units.h"
#include "support/vector.h"

#define MOST_PROCESSORS 65536

/* The number of threads in the series' own fragmentation test. */
#define PROCESSORS 64

/* Default of fallocate2, truncate and creat_clo. */
#define MEASURED_REPEATS 3

static const char usage[] =
	"Usage: e2allocsim WORKLOAD [options] IMAGE [SIZE]\n"
	"       e2allocsim replay [options] TRACE IMAGE\n"
	"       e2allocsim all --html=FILE|--report=DIR [--quick] [--seed=N] [--progress=STYLE]\n"
	"Runs a workload on the metadata of an ext4 filesystem and tells what it makes of files and free space.\n"
	"\n"
	"  TRACE                what ext4 did, as trace-cmd, perf or tracefs print it; IMAGE stays as it is\n"
	"  all                  all workloads on images of their own, as a page with charts; --quick: in small\n"
	"  IMAGE                a file or device with a filesystem that is not mounted; with SIZE, a new sparse file\n"
	"  SIZE                 as mke2fs(8) reads it, which gets -t ext4 -O orphan_file unless -t, -T or -O is "
	"given\n";

static const char examples[] =
	"\n"
	"Examples:\n"
	"  e2allocsim append --compare=policies disk.img 200G   64 files that grow, under each policy\n"
	"  e2allocsim append --policy=base old.img              as Linux before the series; old.img is kept\n"
	"  e2allocsim replay trace.txt before.img               beside what the kernel did, each policy\n"
	"  e2allocsim all --html=all.html --quick               every workload, in small: a page with charts\n";

static void set_show(struct command *command, const struct taken_option *option)
{
	errcode_t error = shown_parse(option->argument, &command->options.shown);

	if (error)
		usage_error("--show: %s: it is not one of mb_stats, mb_groups and mb_structs_summary",
		            option->argument);
}

static const char *shown_word(unsigned int index)
{
	return kernel_form_name((enum kernel_form)index);
}

/* "1,2,4,8" */
static void set_list(const struct taken_option *option, unsigned int **list, size_t *count)
{
	char *rest = option->argument, *word;
	size_t capacity = 0;

	free(TAKE(*list));
	*count = 0;
	while ((word = strsep(&rest, ","))) {
		unsigned int number = (unsigned int)read_number(option->row, word);

		if (vector_add(list, count, &capacity, &number, sizeof(number)))
			exit_without_memory();
	}
}

static void set_threads(struct command *command, const struct taken_option *option)
{
	set_list(option, &command->threads, &command->options.thread_count);
}

static void set_processors(struct command *command, const struct taken_option *option)
{
	set_list(option, &command->processors, &command->processor_count);
}

static void choose_machine(struct command *command, const struct taken_option *option)
{
	/* If calls take no time, the modelled clock stands still, and fallocate2 would never end. */
	if (machine_parse(option->argument, &command->machine) || !command->machine.call)
		usage_error("--machine: %s: neither a machine that e2allocsim(8) lists nor five to seven numbers of "
		            "nanoseconds "
		            "with "
		            "colons between them",
		            option->argument);
}

static const char *machine_word(unsigned int index)
{
	return machine_presets[index].name;
}

static void set_directory(struct command *command UNUSED, const struct taken_option *option)
{
	const char *name = option->argument;

	if (!*name || strchr(name, '/') || strlen(name) > EXT2_NAME_LEN || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		usage_error("--directory: %s cannot be the name of a directory", name);
}

void set_mke2fs_option(struct command *command, const struct taken_option *option)
{
	char letter = option->row->letter;

	command->type_given = command->type_given || strchr("tTO", letter);
	command->extended_given = command->extended_given || letter == 'E';
	/* mke2fs would truncate it, with a warning that is not shown here. */
	if (letter == 'L' && strlen(option->argument) > EXT2_LABEL_LEN)
		usage_error("-L: %s is longer than %d bytes", option->argument, EXT2_LABEL_LEN);
	mke2fs_arguments_add(&command->mke2fs, letter, option->argument);
}

#define REPORT_ROWS                                                                                                    \
	{ .name = "show",                                                                                              \
	  .argument = "WHAT[,WHAT]...",                                                                                \
	  .kind = ARGUMENT_TEXT,                                                                                       \
	  .word = shown_word,                                                                                          \
	  .set = set_show,                                                                                             \
	  .help = "what the kernel would show after each run: mb_stats, mb_groups,\nmb_structs_summary" },             \
	{                                                                                                              \
		.name = "json", FIELD(json), .help = "results as JSON"                                                 \
	}

static void set_limit(struct command *command, const struct taken_option *option)
{
	source_limits_read_unpacked(option->argument, &command->most_unpacked_bytes);
}

static const struct option_row run_rows[] = {
	{ .heading = "How it runs" },
	{ .name = "threads",
	  .argument = "N[,N]...",
	  .kind = ARGUMENT_TEXT,
	  .maximum = MOST_THREADS,
	  .set = set_threads,
	  .help = "0 (default): one thread runs the streams in turn, in an order that the seed decides" },
	{ .name = "checksums",
	  FIELD(options.checksums),
	  .help = "with threads: compute a bitmap's checksum under the group's lock after each search,\n"
	          "as Linux does" },
	{ .name = "repeat",
	  .argument = "N",
	  .kind = ARGUMENT_NUMBER,
	  .minimum = 1,
	  .maximum = RESULT_MAX_REPEATS,
	  FIELD(options.repeats),
	  .help = "run N times and show medians and quartiles of measured values; the image stays as it is\n"
	          "(default: 3 of fallocate2, truncate and creat_clo where it stays anyway, else 1)" },
	{ .name = "processors",
	  .argument = "N[,N]...",
	  .kind = ARGUMENT_TEXT,
	  .minimum = 1,
	  .maximum = MOST_PROCESSORS,
	  .set = set_processors,
	  .help = "modelled CPUs in single-threaded runs: groups that another one uses count as\n"
	          "busy (default: 64)" },
	{ .name = "machine",
	  .argument = "MACHINE",
	  .kind = ARGUMENT_TEXT,
	  .word = machine_word,
	  .set = choose_machine,
	  .help = "model what each of --processors takes there and waits for locks: kunpeng-920,\n"
	          "amd-9654 (fallocate2, append), xeon-truncate, xeon-creat-clo, or numbers" },
	{ .name = "cpu-limit",
	  .argument = "PERCENT",
	  .kind = ARGUMENT_NUMBER,
	  .minimum = 1,
	  .maximum = 100,
	  FIELD(options.cpu_percent),
	  .help = "of a processor that each stream, as a container, may have in each 100 ms" },
	{ .name = "directory",
	  .argument = "NAME",
	  .kind = ARGUMENT_TEXT,
	  FIELD(options.directory),
	  .set = set_directory,
	  .help = "directory for the files, made in the image's root (default: the workload's name)" },
	{ .name = "in-place",
	  FIELD(is_in_place),
	  .help = "write the result into IMAGE, which exists; else IMAGE stays as it is" },
	{ .letter = 'n', FIELD(options.dry_run), .help = "leave the image as it is: the default, but for a new one" },
	{ .name = "aged",
	  FIELD(is_aged),
	  .help = "with SIZE: make the new image old first, as the workload age does it" },
	{ .name = "half-full",
	  FIELD(is_half_full),
	  .help = "with SIZE: fill half of the new image first, as age --fill=50 --churn=1 does it" },
	{ .letter = 'F', FIELD(force), .help = "with SIZE: replace a file that exists" },
	UNPACKED_LIMIT_ROW(set_limit),
	REPORT_ROWS,
	{ 0 },
};

/* A replay takes order and threads from the trace, and never changes the image. */
static const struct option_row replay_rows[] = {
	{ .heading = "How it runs" },
	REPORT_ROWS,
	PROGRESS_ROW(progress),
	{ 0 },
};

static const struct option_row shared_rows[] = {
	{ .name = "seed",
	  .argument = "N",
	  .kind = ARGUMENT_NUMBER,
	  .maximum = UINT64_MAX,
	  FIELD(options.seed),
	  .help = "of all that is random (default: 1)" },
	PROGRESS_ROW(progress),
	{ 0 },
};

static const struct option_row all_rows[] = {
	{ .heading = "With all" },
	{ .name = "html",
	  .argument = "FILE",
	  .kind = ARGUMENT_FILE,
	  FIELD(overview.html),
	  .help = "write a page with charts, for browsers" },
	{ .name = "report",
	  .argument = "DIR",
	  .kind = ARGUMENT_DIRECTORY,
	  FIELD(overview.directory),
	  .help = "write the same as Markdown, DIR/allocsim.md, and its charts" },
	{ .name = "quick", FIELD(overview.is_quick), .help = "small runs, to try it" },
	{ 0 },
};

/* An option of a workload as a row; the zero row after the last one. */
static void describe_setting(const struct workload_option *option, unsigned int index, struct option_row *row)
{
	static const enum argument_kind kinds[] = {
		[SETTING_NUMBER] = ARGUMENT_NUMBER, [SETTING_BYTES] = ARGUMENT_SIZE, [SETTING_FLAG] = ARGUMENT_NONE,
		[SETTING_CHOICE] = ARGUMENT_WORDS,  [SETTING_TEXT] = ARGUMENT_TEXT,
	};

	*row = (struct option_row){
		.name = option->name,
		.argument = option->argument,
		.kind = kinds[option->kind],
		.words = option->kind == SETTING_CHOICE ? option->argument : NULL,
		.minimum = option->minimum,
		.maximum = option->maximum,
		FIELD(settings[0].number),
		.help = option->help,
	};
	if (option->kind == SETTING_TEXT)
		row->field_offset = offsetof(struct command, settings[0].text);
	row->field_offset += index * sizeof(struct setting);
}

static void describe_settings(const struct workload *workload, struct option_row rows[WORKLOAD_MOST_OPTIONS + 1])
{
	unsigned int count = 0;

	for (; workload && workload->options[count].name; count++)
		describe_setting(&workload->options[count], count, &rows[count]);
	rows[count] = (struct option_row){ 0 };
}

static void print_workloads(void)
{
	const struct workload *workload;

	for (unsigned int index = 0; (workload = workload_get(index)); index++) {
		struct option_row rows[WORKLOAD_MOST_OPTIONS + 1];

		printf("\n%s: %s\n", workload->name, workload->summary);
		describe_settings(workload, rows);
		help_print_options(rows);
	}
}

/* TRACE IMAGE */
static void set_input(struct command *command, int count, char **arguments)
{
	const char *input = command->options.workload->input;

	if (count < 2)
		usage_error("%s is missing" SEE_HELP, count ? "IMAGE" : input);
	if (count > 2)
		usage_error("%s: nothing may follow IMAGE", arguments[2]);
	command->options.input = arguments[0];
	command->options.image = arguments[1];
}

static void set_image(struct command *command, int count, char **arguments)
{
	if (!count)
		usage_error("IMAGE is missing" SEE_HELP);
	if (count > 2)
		usage_error("%s: nothing may follow SIZE", arguments[2]);
	command->options.image = arguments[0];
	command->size = count > 1 ? mke2fs_size(arguments[1], command->size_text) : NULL;
	if (count > 1 && !command->size)
		usage_error("SIZE: %s is not a size, as 64M, 1.5GiB or 10MB is", arguments[1]);
	if (!command->size && command->mke2fs.count)
		usage_error("%s is for mke2fs(8), which makes a new image: give its SIZE, too",
		            command->mke2fs.list[0]);
	if (command->is_aged && !command->size)
		usage_error(
			"--aged makes a new image old: give its SIZE, too, or run e2allocsim age --in-place on IMAGE "
			"first");
	if (command->is_half_full && (!command->size || command->is_aged))
		usage_error("--half-full fills half of a new image: give its SIZE, too, and leave --aged out");
	if (command->is_in_place && (command->size || command->options.dry_run))
		usage_error("--in-place writes into an image that exists: leave %s out", command->size ? "SIZE" : "-n");
	command->options.dry_run = command->options.dry_run || (!command->size && !command->is_in_place);
	if (command->size && !command->type_given) {
		mke2fs_arguments_add(&command->mke2fs, 't', "ext4");
		mke2fs_arguments_add(&command->mke2fs, 'O', "orphan_file");
	}
	/* The hash seed decides where directories go: runs with equal options shall be equal. */
	if (command->size && !command->extended_given)
		mke2fs_arguments_add(&command->mke2fs, 'E', "hash_seed=00000000-0000-4000-8000-000000000000");
}

static void set_all(struct command *command, int count, char **arguments)
{
	if (count)
		usage_error("%s: all makes images of its own: leave the name out", arguments[0]);
	if (!command->overview.directory && !command->overview.html)
		usage_error("--html=FILE or --report=DIR is missing");
	if (command->overview.html && strcmp(command->overview.html, "-") == 0)
		usage_error("--html cannot write to standard output: name a file (./- for one called -)");
	command->overview.seed = command->options.seed;
	command->overview.progress = command->progress;
	command->overview.online_processors = command->options.online_processors;
}

/* Times are measured several times, unless the one run is to be written. */
static unsigned int default_repeats(const struct command *command)
{
	const struct simulate_options *options = &command->options;
	bool is_written = options->configuration_count == 1 && options->thread_count == 1 && !options->dry_run;

	return options->workload && options->workload->row && !is_written ? MEASURED_REPEATS : 1;
}

/* The workload decides which options there are. */
static const char workload_is_first[] = "WORKLOAD has to come first, before all options";

static const struct command_line *after_word(unsigned int index);

static const struct command_line all_line = {
	.usage = usage,
	.tables = { all_rows, shared_rows },
	.epilogue = examples,
	.word = "all",
};

/* The command line of a workload, or of none. The workload's own options are stored in settings, to which the line
 * points. */
static struct command_line workload_line(const struct workload *workload,
                                         struct option_row settings[WORKLOAD_MOST_OPTIONS + 1])
{
	bool has_input = workload && workload->input;

	describe_settings(workload, settings);
	if (has_input)
		return (struct command_line){
			.usage = usage,
			.tables = { settings, compared_rows, replay_rows },
			.print_epilogue = print_workloads,
			.epilogue = examples,
			.after_word = after_word,
			.word = workload->name,
		};
	return (struct command_line){
		.usage = usage,
		.advice = workload ? NULL : workload_is_first,
		.tables = { settings, compared_rows, run_rows, shared_rows, mke2fs_options },
		.print_epilogue = print_workloads,
		.epilogue = examples,
		.after_word = after_word,
		.word = workload ? workload->name : NULL,
	};
}

static const struct command_line *after_word(unsigned int index)
{
	static struct option_row settings[WORKLOAD_MOST_OPTIONS + 1];
	static struct command_line line;
	const struct workload *workload = index ? workload_get(index - 1) : NULL;

	if (!index)
		return &all_line;
	line = workload_line(workload, settings);
	return workload ? &line : NULL;
}

/* A replay without options about the policy compares the main policies with the trace. */
static bool is_compared(const struct option_row *row, bool is_by_name UNUSED)
{
	return row->name && (strcmp(row->name, "policy") == 0 || strcmp(row->name, "compare") == 0);
}

/* Reads the options. Returns how many arguments are left; they are at the end. */
static int read_options(int argument_count, char **arguments, struct command *command)
{
	struct option_row settings[WORKLOAD_MOST_OPTIONS + 1];
	const struct command_line line =
		command->is_all ? all_line : workload_line(command->options.workload, settings);

	bool is_preset = command->options.workload && command->options.workload->input &&
	                 !command_line_has(&line, argument_count, arguments, is_compared);

	if (is_preset)
		command->comparison = COMPARE_MAIN;
	int used = command_line_read(&line, argument_count, arguments, command);

	if (is_preset && tunable_is_set(tunable_find("policy"), &command->policy))
		command->comparison = COMPARE_NOTHING;
	return argument_count - used;
}

/* Checks that only the workload can make of its options. */
static void check_settings(const struct command *command)
{
	const struct workload *workload = command->options.workload;
	struct problem problem = { 0 };

	if (workload && workload->check && workload->check(command->settings, &problem))
		usage_error("%s", problem.reason ? problem.reason : "no memory");
}

/* With a machine that is modelled its processors stand where threads stand otherwise. */
static void set_machine(struct command *command)
{
	if (!command->machine.name) {
		if (command->options.cpu_percent)
			usage_error("--cpu-limit is for processors that are modelled: give --machine, too");
		if (command->processor_count > 1)
			usage_error("--processors: several numbers need --machine");
		command->options.processors = command->processors ? command->processors[0] : PROCESSORS;
		return;
	}
	if (!command->options.workload->models_machines)
		usage_error(
			"--machine: %s does not model what calls cost: append, fallocate2, truncate and creat_clo do",
			command->options.workload->name);
	if (command->threads)
		usage_error("--machine models processors in one thread: leave --threads out");
	bool goals_given = command->policy.allocator.streams;

	command->options.machine = &command->machine;
	command->options.threads = command->processors ? command->processors : &command->options.processors;
	command->options.thread_count = command->processors ? command->processor_count : 1;
	/* The kernel has a goal for each possible processor, used or not. */
	uint32_t *goals = &command->policy.allocator.streams;

	for (size_t index = 0; !goals_given && index < command->options.thread_count; index++)
		if (command->options.threads[index] > (*goals ? *goals : PROCESSORS))
			*goals = command->options.threads[index];
}

void command_parse(int argument_count, char **arguments, struct command *command)
{
	static const unsigned int one_in_turn;

	if (argument_count < 2)
		usage_error("WORKLOAD and IMAGE are missing" SEE_HELP);
	const struct workload *workload = workload_find(arguments[1]);
	bool is_option = arguments[1][0] == '-';

	*command = (struct command){
		.is_all = strcmp(arguments[1], "all") == 0,
		.most_unpacked_bytes = SOURCE_LIMITS_UNPACKED_BYTES,
		.policy.allocator.struct_bytes = sizeof(struct ext2mb_options),
		.options = { .workload = workload,
		             .seed = 1,
		             .processors = PROCESSORS,
		             .thread_count = 1,
		             .online_processors = default_threads() },
	};
	if (!workload && !command->is_all && !is_option)
		usage_error("%s: there is no such workload: --help lists them", arguments[1]);
	if (workload)
		workload_preset(workload, command->settings);
	if (!is_option) {
		argument_count--;
		arguments++;
	}
	int left = read_options(argument_count, arguments, command);
	char **operands = arguments + argument_count - left;

	if (command->is_all) {
		set_all(command, left, operands);
		return;
	}
	if (is_option)
		usage_error("%s", workload_is_first);
	if (workload && workload->input)
		set_input(command, left, operands);
	else
		set_image(command, left, operands);
	if (command->policy.choices_added & command->policy.choices_dropped)
		usage_error("--add and --drop name the same choice: leave one of them out");
	check_settings(command);
	compared_check(command);
	set_machine(command);
	if (configuration_list(command->comparison, &command->policy, &command->configurations,
	                       &command->options.configuration_count))
		exit_without_memory();
	if (workload && workload->input &&
	    configuration_add_traced(&command->configurations, &command->options.configuration_count))
		exit_without_memory();
	command->options.configurations = command->configurations;
	if (!command->options.threads)
		command->options.threads = command->threads ? command->threads : &one_in_turn;
	command->options.settings = command->settings;
	command->options.shown_as_json = command->json;
	if (!command->options.repeats)
		command->options.repeats = default_repeats(command);
	if (command->is_in_place &&
	    (command->options.configuration_count * command->options.thread_count > 1 || command->options.repeats > 1))
		usage_error("--in-place writes the result of one run, and these are several");
}

void command_free(struct command *command)
{
	mke2fs_arguments_free(&command->mke2fs);
	user_library_unload(command->user);
	free(command->configurations);
	free(command->threads);
	free(command->processors);
}
