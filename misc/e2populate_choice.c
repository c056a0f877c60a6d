// SPDX-License-Identifier: GPL-2.0-or-later
/* The options that say what of a source is taken, and with which owners and metadata. */
#include <stdlib.h>
#include <string.h>

#include "e2populate_options.h"
#include "source/source.h"
#include "support/vector.h"

/* What was wrong with the command line itself is wrong usage; a file that it names may be at fault on its own. */
static void check(errcode_t error, struct problem *problem, int status)
{
	if (!error)
		return;
	print_problem(problem);
	exit(status);
}

void take_source(struct command *command, const struct taken_option *option)
{
	const char *argument = option->argument;
	struct populate_options *options = &command->options;
	bool is_input = source_is_standard_input(argument);

	if (source_names_nothing(argument))
		usage_error("-d %s: no file is named", argument);
	for (uint32_t i = 0; i < options->source_count; i++)
		if (is_input && source_is_standard_input(command->sources[i]))
			usage_error("-d %s: standard input can be read only once", argument);
	if (vector_reserve(&command->sources, &command->source_capacity, options->source_count + 1ul,
	                   sizeof(*command->sources)))
		exit_without_memory();
	command->sources[options->source_count++] = argument;
	options->sources = command->sources;
}

static struct exclude *needed_exclude(struct command *command)
{
	struct problem problem = { 0 };

	if (!command->exclude) {
		errcode_t error = exclude_create(&command->exclude);

		check(error ? problem_set(&problem, error, NULL, "cannot read options") : 0, &problem, EXIT_FAILURE);
		command->options.exclude = command->exclude;
	}
	return command->exclude;
}

void take_exclude(struct command *command, const struct taken_option *option)
{
	struct problem problem = { 0 };

	check(exclude_add(needed_exclude(command), option->argument, "--exclude", &problem), &problem, EXIT_USAGE);
}

void take_exclude_from(struct command *command, const struct taken_option *option)
{
	struct problem problem = { 0 };

	check(exclude_add_file(needed_exclude(command), option->argument, &problem), &problem, EXIT_FAILURE);
}

void take_owner_map(struct command *command, const struct taken_option *option)
{
	struct problem problem = { 0 };

	check(owner_map_add_file(&command->owners, option->argument, &problem), &problem, EXIT_FAILURE);
	command->options.owners = &command->owners;
}

static void add_range(struct command *command, enum account_kind kind, const char *argument, const char *name)
{
	struct problem problem = { 0 };

	check(owner_map_add_range(&command->owners, kind, argument, name, &problem), &problem, EXIT_USAGE);
	command->options.owners = &command->owners;
}

void take_uid_map(struct command *command, const struct taken_option *option)
{
	add_range(command, ACCOUNT_USER, option->argument, "--uid-map");
}

void take_gid_map(struct command *command, const struct taken_option *option)
{
	add_range(command, ACCOUNT_GROUP, option->argument, "--gid-map");
}

static const struct {
	const char *name;
	struct source_layering layering;
} whiteouts[] = {
	{ "none", { WHITEOUTS_NONE, false } },
	{ "oci", { WHITEOUTS_OCI, false } },
	{ "overlayfs", { WHITEOUTS_OVERLAYFS, false } },
	{ "to-overlayfs", { WHITEOUTS_OCI, true } },
};

const char *whiteouts_name(unsigned int index)
{
	return index < sizeof(whiteouts) / sizeof(*whiteouts) ? whiteouts[index].name : NULL;
}

void take_whiteouts(struct command *command, const struct taken_option *option)
{
	command->options.layering = whiteouts[option->value].layering;
}

void take_root_owned(struct command *command, const struct taken_option *option)
{
	(void)option;
	command->options.owners = &command->owners;
}

void take_metadata(struct command *command, const struct taken_option *option)
{
	if (command->options.metadata)
		usage_error("--metadata is given twice: put all lines into one file");
	command->options.metadata = option->argument;
}

void take_casefold(struct command *command, const struct taken_option *option)
{
	struct problem problem = { 0 };
	errcode_t error = vector_reserve(&command->casefolded, &command->casefolded_capacity,
	                                 command->casefolded_count + 2, sizeof(*command->casefolded));

	check(error ? problem_set(&problem, error, NULL, "cannot read options") : 0, &problem, EXIT_FAILURE);
	command->casefolded[command->casefolded_count++] = (char *)(uintptr_t)option->argument;
	command->casefolded[command->casefolded_count] = NULL;
}

void check_choice(const struct command *command)
{
	const struct owner_map *owners = &command->owners;

	if (owners->root_owned &&
	    (owners->rule_count || owners->ids[ACCOUNT_USER].count || owners->ids[ACCOUNT_GROUP].count))
		usage_error("--root-owned leaves nothing for --owner-map, --uid-map and --gid-map");
}
