// SPDX-License-Identifier: GPL-2.0-or-later
#include "e2allocsim_all.h"

#include <getopt.h>
#include <unistd.h>

#include "e2allocsim_options.h"
#include "simulate/overview/overview.h"

enum long_option { OPTION_REPORT = OPTION_OWN, OPTION_QUICK };

static const struct option all_options[] = {
	{ "report", required_argument, NULL, OPTION_REPORT },
	{ "quick", no_argument, NULL, OPTION_QUICK },
	SHARED_OPTIONS,
	{ 0 },
};

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
	while ((option = getopt_long(argument_count, arguments, "hV", all_options, NULL)) != -1)
		if (option == OPTION_REPORT)
			options.directory = optarg;
		else if (option == OPTION_QUICK)
			options.is_quick = true;
		else
			command_take_shared(option, optarg, &options.seed, &options.progress);
	if (optind < argument_count)
		usage_error("%s: all makes an image of its own", arguments[optind]);
	if (!options.directory)
		usage_error("--report=DIR is missing");
	return overview_write(&options, problem);
}
