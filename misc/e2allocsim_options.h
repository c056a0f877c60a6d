/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e2allocsim's command line. */
#ifndef MISC_E2ALLOCSIM_OPTIONS_H
#define MISC_E2ALLOCSIM_OPTIONS_H

#include "simulate/simulate.h"
#include "simulate/workloads/workloads.h"
#include "usage.h"

struct command {
	struct simulate_options options;
	struct setting settings[WORKLOAD_MOST_OPTIONS];
	struct configuration *configurations; /* owned */
	unsigned int *threads;                /* owned */
	const char *size;                     /* to make the image with; NULL: it is there */
	bool force;
	char **mke2fs; /* what is passed on, owned as are the strings */
	size_t mke2fs_count, mke2fs_capacity;
	enum progress_style progress;
	bool json;
};

/* Reads the command line; --help, --version and wrong usage end the program. arguments must outlive command. */
void command_parse(int argument_count, char **arguments, struct command *command);

void command_free(struct command *command);

/* The options that a workload and `all` have in common; getopt(3)'s values of others begin with OPTION_OWN. */
enum shared_option { OPTION_SEED = 256, OPTION_PROGRESS, OPTION_OWN };
#define SHARED_OPTIONS                                                                                                 \
	{ "seed", required_argument, NULL, OPTION_SEED },                                                              \
	{ "progress", required_argument, NULL, OPTION_PROGRESS },                                                      \
	{ "help", no_argument, NULL, 'h' },                                                                            \
	{ "version", no_argument, NULL, 'V' }

/* Takes one of them, or what getopt(3) found wrong; false: it is none. --help, --version and wrong usage exit. */
bool command_take_shared(int option, const char *argument, uint64_t *seed, enum progress_style *progress);

/* The texts of --help and --version. */
void command_print_help(void);
void command_print_version(void);

#endif
