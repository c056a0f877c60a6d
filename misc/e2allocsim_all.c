// SPDX-License-Identifier: GPL-2.0-or-later
#include "e2allocsim_all.h"

#include <getopt.h>
#include <unistd.h>

#include "e2allocsim_options.h"
#include "simulate/overview.h"
#include "support/units.h"

enum long_option { OPTION_REPORT = 256, OPTION_QUICK, OPTION_SEED, OPTION_PROGRESS, OPTION_HELP, OPTION_VERSION };

static const struct option all_options[] = {
	{ "report", required_argument, NULL, OPTION_REPORT },
	{ "quick", no_argument, NULL, OPTION_QUICK },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "progress", required_argument, NULL, OPTION_PROGRESS },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ 0 },
};

static void take_option(struct overview_options *options, int option, const char *argument)
{
	switch (option) {
	case OPTION_REPORT:
		options->directory = argument;
		return;
	case OPTION_QUICK:
		options->is_quick = true;
		return;
	case OPTION_SEED:
		if (units_parse_number(argument, 0, UINT64_MAX, &options->seed))
			usage_error("--seed: %s is not a number from 0 to %llu", argument,
			            (unsigned long long)UINT64_MAX);
		return;
	case OPTION_PROGRESS:
		if (progress_parse_style(argument, &options->progress))
			usage_error("--progress: %s is not auto, bar, json or none", argument);
		return;
	case OPTION_HELP:
		command_print_help();
		exit(EXIT_SUCCESS);
	case OPTION_VERSION:
	case 'V':
		command_print_version();
		exit(EXIT_SUCCESS);
	}
	fputs("Try 'e2allocsim --help'.\n", stderr);
	exit(EXIT_USAGE);
}

errcode_t all_main(int argument_count, char **arguments, struct problem *problem)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct overview_options options = {
		.seed = 1,
		.online_processors = processors > 0 ? (unsigned int)processors : 1,
		.progress = PROGRESS_AUTO,
	};
	int option;

	/* getopt(3) begins its messages with it. */
	arguments[1] = arguments[0];
	argument_count--;
	arguments++;
	while ((option = getopt_long(argument_count, arguments, "V", all_options, NULL)) != -1)
		take_option(&options, option, optarg);
	if (optind < argument_count)
		usage_error("%s: all makes an image of its own", arguments[optind]);
	if (!options.directory)
		usage_error("--report=DIR is missing");
	return overview_write(&options, problem);
}
