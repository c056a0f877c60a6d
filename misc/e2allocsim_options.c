// SPDX-License-Identifier: GPL-2.0-or-later
/* e2allocsim's command line: options of all workloads, of one workload, and of mke2fs(8) for a new image. */
#include "e2allocsim_options.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "standard_streams.h"
#include "support/text/units.h"
#include "support/vector.h"

#define MOST_THREADS 1024
#define MOST_PROCESSORS 65536
#define MOST_GOALS 65536

/* mke2fs(8)'s own that are passed on to it, and -F, -h and -n. */
static const char short_options[] = "b:E:Fg:G:hi:I:J:L:m:nN:O:t:T:U:V";

/* As many as the series' own fragmentation test has threads. */
#define PROCESSORS 64

enum long_option {
	OPTION_POLICY = OPTION_OWN,
	OPTION_ADD,
	OPTION_DROP,
	OPTION_SCAN,
	OPTION_NORMALIZE,
	OPTION_SMALL,
	OPTION_GOALS,
	OPTION_STRIPE,
	OPTION_COMPARE,
	OPTION_THREADS,
	OPTION_CHECKSUMS,
	OPTION_REPEAT,
	OPTION_PROCESSORS,
	OPTION_DIRECTORY,
	OPTION_JSON,
	OPTION_OF_WORKLOAD, /* and on: its options */
};

static const struct option common_options[] = {
	{ "policy", required_argument, NULL, OPTION_POLICY },
	{ "add", required_argument, NULL, OPTION_ADD },
	{ "drop", required_argument, NULL, OPTION_DROP },
	{ "scan", required_argument, NULL, OPTION_SCAN },
	{ "normalize", required_argument, NULL, OPTION_NORMALIZE },
	{ "small", required_argument, NULL, OPTION_SMALL },
	{ "goals", required_argument, NULL, OPTION_GOALS },
	{ "stripe", required_argument, NULL, OPTION_STRIPE },
	{ "compare", required_argument, NULL, OPTION_COMPARE },
	{ "threads", required_argument, NULL, OPTION_THREADS },
	{ "checksums", no_argument, NULL, OPTION_CHECKSUMS },
	{ "repeat", required_argument, NULL, OPTION_REPEAT },
	{ "processors", required_argument, NULL, OPTION_PROCESSORS },
	{ "directory", required_argument, NULL, OPTION_DIRECTORY },
	{ "json", no_argument, NULL, OPTION_JSON },
	SHARED_OPTIONS,
};

#define COMMON_OPTIONS (sizeof(common_options) / sizeof(*common_options))

static const char *const scans[] = { "default", "linear", "indexed", NULL };
static const char *const normalizations[] = { "default", "ext2mb", "table", "pow2", "none", NULL };
static const char *const small_windows[] = { "default", "directory", "thread", "none", NULL };

/* While it is being read. */
struct parsing {
	struct command *command;
	struct ext2mb_options allocator;
	enum comparison comparison;
	bool type_given;     /* -t, -T or -O: we add none of our own */
	bool extended_given; /* -E */
};

static void out_of_memory(void)
{
	fputs("e2allocsim: out of memory\n", stderr);
	exit(EXIT_FAILURE);
}

static uint64_t number(const char *option, const char *argument, uint64_t minimum, uint64_t maximum)
{
	uint64_t value;

	if (units_parse_number(argument, minimum, maximum, &value))
		usage_error("--%s: %s is not a number from %" PRIu64 " to %" PRIu64, option, argument, minimum,
		            maximum);
	return value;
}

/* The index of argument among the names; words: what they are. */
static unsigned int one_of(const char *option, const char *argument, const char *const *names, const char *words)
{
	for (unsigned int index = 0; names[index]; index++)
		if (strcmp(argument, names[index]) == 0)
			return index;
	usage_error("--%s: %s is not %s", option, argument, words);
}

static void pass_on(struct command *command, int option, const char *argument)
{
	char *text = NULL;

	if (vector_reserve(&command->mke2fs, &command->mke2fs_capacity, command->mke2fs_count + 2,
	                   sizeof(*command->mke2fs)) ||
	    asprintf(&text, "-%c%s", option, argument) < 0)
		out_of_memory();
	command->mke2fs[command->mke2fs_count++] = text;
	command->mke2fs[command->mke2fs_count] = NULL;
}

static void take_choices(const char *option, const char *argument, uint32_t *choices)
{
	errcode_t error = configuration_parse_choices(argument, choices);

	if (error)
		usage_error("--%s: %s does not name choices or patches of the series", option, argument);
}

/* "1,2,4,8" */
static void take_threads(struct command *command, const char *argument)
{
	SCOPE_FREE char *list = strdup(argument);
	char *rest = list;
	char *word;
	size_t capacity = 0;

	if (!list)
		out_of_memory();
	free(TAKE(command->threads));
	command->options.thread_count = 0;
	while ((word = strsep(&rest, ","))) {
		if (vector_reserve(&command->threads, &capacity, command->options.thread_count + 1,
		                   sizeof(*command->threads)))
			out_of_memory();
		command->threads[command->options.thread_count++] =
			(unsigned int)number("threads", word, 0, MOST_THREADS);
	}
}

/* The index of argument among words with | between them. */
static uint64_t choice(const struct workload_option *option, const char *argument)
{
	SCOPE_FREE char *words = strdup(option->argument);
	char *rest = words;
	char *word;

	if (!words)
		out_of_memory();
	for (uint64_t index = 0; (word = strsep(&rest, "|")); index++)
		if (strcmp(word, argument) == 0)
			return index;
	usage_error("--%s: %s is not one of %s", option->name, argument, option->argument);
}

static void take_setting(struct command *command, unsigned int index, const char *argument)
{
	const struct workload_option *option = &command->options.workload->options[index];
	struct setting *setting = &command->settings[index];

	if (option->kind == SETTING_NUMBER)
		setting->number = number(option->name, argument, option->minimum, option->maximum);
	else if (option->kind == SETTING_FLAG)
		setting->number = 1;
	else if (option->kind == SETTING_CHOICE)
		setting->number = choice(option, argument);
	else if (option->kind == SETTING_TEXT)
		setting->text = argument;
	else if (units_parse_bytes(argument, 1, &setting->number) || setting->number < option->minimum ||
	         setting->number > option->maximum)
		usage_error("--%s: %s is not a size from %" PRIu64 " to %" PRIu64 " bytes", option->name, argument,
		            option->minimum, option->maximum);
}

static void take_allocator_option(struct ext2mb_options *allocator, int option, const char *argument)
{
	switch (option) {
	case OPTION_POLICY:
		if (ext2mb_policy_find(argument, &allocator->policy))
			usage_error("--policy: %s is not base, series or ext2mb", argument);
		break;
	case OPTION_ADD:
		take_choices("add", argument, &allocator->choices_added);
		break;
	case OPTION_DROP:
		take_choices("drop", argument, &allocator->choices_dropped);
		break;
	case OPTION_SCAN:
		allocator->optimize_scan = one_of("scan", argument, scans, "linear or indexed");
		break;
	case OPTION_NORMALIZE:
		allocator->normalization = one_of("normalize", argument, normalizations, "ext2mb, table, pow2 or none");
		break;
	case OPTION_SMALL:
		allocator->small_windows = one_of("small", argument, small_windows, "directory, thread or none");
		break;
	case OPTION_GOALS:
		allocator->streams = (uint32_t)number("goals", argument, 1, MOST_GOALS);
		break;
	case OPTION_STRIPE:
		allocator->stripe_blocks = (uint32_t)number("stripe", argument, 0, UINT32_MAX - 1);
		if (!allocator->stripe_blocks)
			allocator->stripe_blocks = EXT2MB_NO_STRIPE;
		break;
	}
}

bool command_take_shared(int option, const char *argument, uint64_t *seed, enum progress_style *progress)
{
	switch (option) {
	case OPTION_SEED:
		*seed = number("seed", argument, 0, UINT64_MAX);
		return true;
	case OPTION_PROGRESS:
		if (progress_parse_style(argument, progress))
			usage_error("--progress: %s is not auto, bar, json or none", argument);
		return true;
	case 'h':
		command_print_help();
		exit_after_printing("e2allocsim");
	case 'V':
		command_print_version();
		exit_after_printing("e2allocsim");
	case '?':
		fputs("Try 'e2allocsim --help'.\n", stderr);
		exit(EXIT_USAGE);
	}
	return false;
}

static void take_option(struct parsing *parsing, int option, const char *argument)
{
	struct command *command = parsing->command;

	if (command_take_shared(option, argument, &command->options.seed, &command->progress))
		return;
	switch (option) {
	case OPTION_COMPARE:
		if (configuration_parse_comparison(argument, &parsing->comparison))
			usage_error("--compare: %s is not policies, patches, normalizations or windows", argument);
		return;
	case OPTION_THREADS:
		take_threads(command, argument);
		return;
	case OPTION_CHECKSUMS:
		command->options.checksums = true;
		return;
	case OPTION_REPEAT:
		command->options.repeats = (unsigned int)number("repeat", argument, 1, RESULT_MAX_REPEATS);
		return;
	case OPTION_PROCESSORS:
		command->options.processors = (unsigned int)number("processors", argument, 1, MOST_PROCESSORS);
		return;
	case OPTION_DIRECTORY:
		if (!*argument || strchr(argument, '/') || strlen(argument) > EXT2_NAME_LEN ||
		    strcmp(argument, ".") == 0 || strcmp(argument, "..") == 0)
			usage_error("--directory: %s cannot be the name of a directory", argument);
		command->options.directory = argument;
		return;
	case OPTION_JSON:
		command->json = true;
		return;
	case 'F':
		command->force = true;
		return;
	case 'n':
		command->options.dry_run = true;
		return;
	}
	if (option >= OPTION_OF_WORKLOAD) {
		take_setting(command, (unsigned int)(option - OPTION_OF_WORKLOAD), argument);
	} else if (option >= OPTION_POLICY) {
		take_allocator_option(&parsing->allocator, option, argument);
	} else {
		parsing->type_given = parsing->type_given || strchr("tTO", option);
		parsing->extended_given = parsing->extended_given || option == 'E';
		/* mke2fs would cut it, with a warning that is not shown here. */
		if (option == 'L' && strlen(argument) > EXT2_LABEL_LEN)
			usage_error("-L: %s is longer than %d bytes", argument, EXT2_LABEL_LEN);
		pass_on(command, option, argument);
	}
}

/* The common options and the workload's; what is behind them is all zeros. */
static void collect_options(const struct workload *workload, struct option *all)
{
	size_t next = COMMON_OPTIONS;

	memcpy(all, common_options, sizeof(common_options));
	for (unsigned int index = 0; workload && workload->options[index].name; index++)
		all[next++] = (struct option){
			.name = workload->options[index].name,
			.has_arg = workload->options[index].kind == SETTING_FLAG ? no_argument : required_argument,
			.val = OPTION_OF_WORKLOAD + (int)index,
		};
}

static void preset(struct command *command)
{
	const struct workload *workload = command->options.workload;

	command->options.seed = 1;
	command->options.processors = PROCESSORS;
	command->options.repeats = 1;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	command->options.online_processors = processors > 0 ? (unsigned int)processors : 1;
	for (unsigned int index = 0; workload->options[index].name; index++)
		command->settings[index].number = workload->options[index].preset;
	take_threads(command, "0");
}

static void take_image(struct parsing *parsing, int argument_count, char **arguments)
{
	struct command *command = parsing->command;

	if (optind == argument_count)
		usage_error("IMAGE is missing");
	command->options.image = arguments[optind++];
	if (optind < argument_count)
		command->size = arguments[optind++];
	if (optind < argument_count)
		usage_error("%s: nothing may follow SIZE", arguments[optind]);
	if (!command->size && command->mke2fs_count)
		usage_error("%s is for mke2fs(8) and needs SIZE", command->mke2fs[0]);
	if (command->size && !parsing->type_given) {
		pass_on(command, 't', "ext4");
		pass_on(command, 'O', "orphan_file");
	}
	/* Where directories go depends on it: equal runs shall be equal. */
	if (command->size && !parsing->extended_given)
		pass_on(command, 'E', "hash_seed=00000000-0000-4000-8000-000000000000");
}

void command_parse(int argument_count, char **arguments, struct command *command)
{
	struct option all[COMMON_OPTIONS + WORKLOAD_MOST_OPTIONS + 1] = { 0 };
	struct parsing parsing = { .command = command, .allocator = { .struct_bytes = sizeof(parsing.allocator) } };
	int option;

	if (argument_count < 2)
		usage_error("WORKLOAD and IMAGE are missing");
	command->options.workload = workload_find(arguments[1]);
	if (!command->options.workload && arguments[1][0] != '-')
		usage_error("%s: there is no such workload", arguments[1]);
	collect_options(command->options.workload, all);
	if (command->options.workload) {
		preset(command);
		/* getopt(3) begins its messages with it. */
		arguments[1] = arguments[0];
		argument_count--;
		arguments++;
	}
	while ((option = getopt_long(argument_count, arguments, short_options, all, NULL)) != -1) {
		if (!command->options.workload && option != 'h' && option != 'V')
			usage_error("WORKLOAD comes first");
		take_option(&parsing, option, optarg);
	}
	take_image(&parsing, argument_count, arguments);
	if (parsing.allocator.choices_added & parsing.allocator.choices_dropped)
		usage_error("--add and --drop name the same choice");
	if (configuration_list(parsing.comparison, &parsing.allocator, &command->configurations,
	                       &command->options.configuration_count))
		out_of_memory();
	command->options.configurations = command->configurations;
	command->options.threads = command->threads;
	command->options.settings = command->settings;
}

void command_free(struct command *command)
{
	for (size_t option = 0; option < command->mke2fs_count; option++)
		free(command->mke2fs[option]);
	free(command->mke2fs);
	free(command->configurations);
	free(command->threads);
}
