// SPDX-License-Identifier: GPL-2.0-or-later
/* The options that say what of a source is taken, and with which owners and metadata. */
#include <stdlib.h>
#include <string.h>

#include "e2populate_options.h"
#include "e2populate_report.h"
#include "support/vector.h"

/* What was wrong with the command line itself is wrong usage; a file that it names may be at fault on its own. */
static void check(errcode_t error, struct problem *problem, int status)
{
	if (!error)
		return;
	report_problem(problem);
	exit(status);
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

void take_exclude(struct command *command, const char *argument)
{
	struct problem problem = { 0 };

	check(exclude_add(needed_exclude(command), argument, "--exclude", &problem), &problem, EXIT_USAGE);
}

void take_exclude_from(struct command *command, const char *argument)
{
	struct problem problem = { 0 };

	check(exclude_add_file(needed_exclude(command), argument, &problem), &problem, EXIT_FAILURE);
}

void take_one_file_system(struct command *command, const char *argument)
{
	(void)argument;
	command->options.one_file_system = true;
}

void take_no_xattrs(struct command *command, const char *argument)
{
	(void)argument;
	command->options.without_xattrs = true;
}

void take_flags(struct command *command, const char *argument)
{
	command->options.without_flags = strcmp(argument, "none") == 0;
	if (!command->options.without_flags && strcmp(argument, "keep") != 0)
		usage_error("--flags: %s is neither keep nor none", argument);
}

void take_whiteouts(struct command *command, const char *argument)
{
	static const struct {
		const char *name;
		struct source_layering layering;
	} forms[] = {
		{ "none", { WHITEOUTS_NONE, false } },
		{ "oci", { WHITEOUTS_OCI, false } },
		{ "overlayfs", { WHITEOUTS_OVERLAYFS, false } },
		{ "to-overlayfs", { WHITEOUTS_OCI, true } },
	};

	for (size_t form = 0; form < sizeof(forms) / sizeof(*forms); form++)
		if (strcmp(argument, forms[form].name) == 0) {
			command->options.layering = forms[form].layering;
			return;
		}
	usage_error("--whiteouts: %s is not none, oci, overlayfs or to-overlayfs", argument);
}

void take_owner_map(struct command *command, const char *argument)
{
	struct problem problem = { 0 };

	check(owner_map_add_file(&command->owners, argument, &problem), &problem, EXIT_FAILURE);
	command->options.owners = &command->owners;
}

static void add_range(struct command *command, enum account_kind kind, const char *argument, const char *option)
{
	struct problem problem = { 0 };

	check(owner_map_add_range(&command->owners, kind, argument, option, &problem), &problem, EXIT_USAGE);
	command->options.owners = &command->owners;
}

void take_uid_map(struct command *command, const char *argument)
{
	add_range(command, ACCOUNT_USER, argument, "--uid-map");
}

void take_gid_map(struct command *command, const char *argument)
{
	add_range(command, ACCOUNT_GROUP, argument, "--gid-map");
}

void take_root_owned(struct command *command, const char *argument)
{
	(void)argument;
	command->owners.root_owned = true;
	command->options.owners = &command->owners;
}

void take_metadata(struct command *command, const char *argument)
{
	if (command->options.metadata)
		usage_error("--metadata is given twice");
	command->options.metadata = argument;
}

void take_casefold(struct command *command, const char *argument)
{
	struct problem problem = { 0 };
	errcode_t error = vector_reserve(&command->casefolded, &command->casefolded_capacity,
	                                 command->casefolded_count + 2, sizeof(*command->casefolded));

	check(error ? problem_set(&problem, error, NULL, "cannot read options") : 0, &problem, EXIT_FAILURE);
	command->casefolded[command->casefolded_count++] = (char *)(uintptr_t)argument;
	command->casefolded[command->casefolded_count] = NULL;
}

void check_choice(const struct command *command)
{
	const struct owner_map *owners = &command->owners;

	if (owners->root_owned &&
	    (owners->rule_count || owners->ids[ACCOUNT_USER].count || owners->ids[ACCOUNT_GROUP].count))
		usage_error("--root-owned leaves nothing for --owner-map, --uid-map and --gid-map");
}
