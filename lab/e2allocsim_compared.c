/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "e2allocsim_compared.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compare/tunables.h"
#include "compare/user_library.h"

#define MOST_GOALS 65536

static void set_choices(const struct taken_option *option, uint32_t *choices)
{
	uint32_t named = 0;
	errcode_t error = configuration_parse_choices(option->argument, &named);

	if (error)
		usage_error("--%s: %s does not name choices or patches of the series: e2allocsim(8) lists them",
		            option->row->name, option->argument);
	if (!named)
		usage_error("--%s=%s changes nothing: these patches of the series have no choice that is simulated",
		            option->row->name, option->argument);
	*choices |= named;
}

static void set_policy(struct command *command, const struct taken_option *option)
{
	struct problem problem = { 0 };

	if (!user_library_is_path(option->argument)) {
		if (policy_find(option->argument, &command->policy.policy))
			usage_error("--policy: %s: there is no such policy; a library's name has a slash, as ./mine.so",
			            option->argument);
		return;
	}
	user_library_unload(TAKE(command->user));
	if (user_library_load(option->argument, &command->user, &problem))
		exit(print_problem(&problem));
	command->policy.policy = POLICY_USER;
	command->policy.user = command->user;
}

static void add_choices(struct command *command, const struct taken_option *option)
{
	set_choices(option, &command->policy.choices_added);
}

static void drop_choices(struct command *command, const struct taken_option *option)
{
	set_choices(option, &command->policy.choices_dropped);
}

static void set_stripe(struct command *command, const struct taken_option *option)
{
	if (!option->value)
		command->policy.allocator.stripe_blocks = EXT2MB_NO_STRIPE;
}

/* NAME=VALUE, as often as is wanted. */
static void set_set(struct command *command, const struct taken_option *option)
{
	char *value = strchr(option->argument, '=');
	struct problem problem = { 0 };
	uint64_t number;

	if (!value)
		usage_error("--set: %s: a value is missing: NAME=VALUE", option->argument);
	*value++ = '\0';
	const struct tunable *tunable = tunable_find(option->argument);
	if (!tunable)
		usage_error("--set: %s: there is no such tunable: e2allocsim(8) lists them", option->argument);
	if (tunable_read(tunable, value, &number, &problem))
		usage_error("--set=%s=%s: %s", option->argument, value, problem.reason ? problem.reason : "no memory");
	tunable_set(tunable, &command->policy, number);
}

/* As Linux presets mb_max_linear_groups there. */
static void set_rotational(struct command *command, const struct taken_option *option UNUSED)
{
	if (!tunable_is_set(tunable_find("mb_max_linear_groups"), &command->policy))
		command->policy.linear_groups = LINEAR_GROUPS_ROTATIONAL;
}

/* Those that can be set. */
static const char *tunable_word(unsigned int index)
{
	for (const struct tunable *tunable = all_tunables; tunable->name; tunable++)
		if (tunable->get && index-- == 0)
			return tunable->name;
	return NULL;
}

void compared_check(struct command *command)
{
	const struct workload *workload = command->options.workload;

	for (const struct tunable *tunable = all_tunables; tunable->name; tunable++)
		if (tunable_is_set(tunable, &command->policy) &&
		    configuration_varies(command->comparison, tunable->name))
			usage_error("--set=%s: the compared runs differ in it: leave it out, or compare something else",
			            tunable->name);
	if (command->comparison != COMPARE_ORPHANS || !workload)
		return;
	if (!workload_has_option(workload, "orphans"))
		usage_error("--compare=orphans: %s has no orphans: truncate and creat_clo have", workload->name);
	if (workload_setting(workload, command->settings, "orphans")->number)
		usage_error("--orphans: the compared runs differ in it: leave it out, or compare something else");
}

static void set_compare(struct command *command, const struct taken_option *option)
{
	command->comparison = (enum comparison)(COMPARE_NOTHING + 1 + option->value);
}

_Static_assert(POLICY_EXT2MB == 0 && POLICY_SERIES == 1 && POLICY_BASE == 2, "--policy");
_Static_assert(EXT2MB_SCAN_LINEAR == 1 && EXT2MB_SCAN_INDEXED == 2, "--scan");
_Static_assert(EXT2MB_NORMALIZE_EXT2MB == 1 && EXT2MB_NORMALIZE_TABLE == 2 && EXT2MB_NORMALIZE_POW2 == 3 &&
                       EXT2MB_NORMALIZE_NONE == 4,
               "--normalize");
_Static_assert(EXT2MB_LOCALITY_DIRECTORY == 1 && EXT2MB_LOCALITY_THREAD == 2 && EXT2MB_LOCALITY_NONE == 3, "--small");
_Static_assert(COMPARE_POLICIES == 1 && COMPARE_NORMALIZATIONS == 2 && COMPARE_WINDOWS == 3 && COMPARE_PATCHES == 4 &&
                       COMPARE_MAIN == 5 && COMPARE_ORPHANS == 6,
               "--compare");

const struct option_row compared_rows[] = {
	{ .heading = "What is compared" },
	{ .name = "policy",
	  .argument = "POLICY",
	  .kind = ARGUMENT_TEXT,
	  .words = "ext2mb|series|base",
	  .set = set_policy,
	  .help = "base (Linux before the series), series (Linux with it), ext2mb (default),\n"
	          "or a library with one of your own, ./NAME.so: see ext2mb_policy.h" },
	{ .name = "add",
	  .argument = "CHOICES",
	  .kind = ARGUMENT_TEXT,
	  .set = add_choices,
	  .help = "add single choices or numbers of the series' patches: try-lock,4,8-10" },
	{ .name = "drop",
	  .argument = "CHOICES",
	  .kind = ARGUMENT_TEXT,
	  .set = drop_choices,
	  .help = "leave out single choices or patches" },
	{ .name = "scan",
	  .argument = "SCAN",
	  .kind = ARGUMENT_WORDS,
	  .words = "default|linear|indexed",
	  FIELD(policy.allocator.optimize_scan),
	  .help = "linear, indexed or default (the policy's), as mb_optimize_scan" },
	{ .name = "normalize",
	  .argument = "POLICY",
	  .kind = ARGUMENT_WORDS,
	  .words = "default|ext2mb|table|pow2|none",
	  FIELD(policy.allocator.normalization),
	  .help = "how requests are normalized: ext2mb, table, pow2, none or default (the policy's)" },
	{ .name = "small",
	  .argument = "WINDOWS",
	  .kind = ARGUMENT_WORDS,
	  .words = "default|directory|thread|none",
	  FIELD(policy.allocator.locality),
	  .help = "what small files share a preallocation with: directory, thread, none or default\n"
	          "(the policy's)" },
	{ .name = "goals",
	  .argument = "N",
	  .kind = ARGUMENT_NUMBER,
	  .minimum = 1,
	  .maximum = MOST_GOALS,
	  FIELD(policy.allocator.streams),
	  .help = "how many stream goals (default: 64)" },
	{ .name = "groups",
	  .argument = "STATE",
	  .kind = ARGUMENT_WORDS,
	  .words = "warm|cold",
	  FIELD(policy.loading),
	  .help = "with base and series: warm (default): all groups' bitmaps have been read; cold: none,\n"
	          "as right after a mount with no_prefetch_block_bitmaps" },
	{ .name = "rotational",
	  .set = set_rotational,
	  .help = "with base and series: the disk turns, and Linux looks into four groups before it goes\n"
	          "by its index (default: an SSD)" },
	{ .name = "stripe",
	  .argument = "BLOCKS",
	  .kind = ARGUMENT_NUMBER,
	  .maximum = UINT32_MAX - 1,
	  FIELD(policy.allocator.stripe_blocks),
	  .set = set_stripe,
	  .help = "stripe of a RAID (default: the superblock's; 0: none)" },
	{ .name = "set",
	  .argument = "NAME=VALUE",
	  .kind = ARGUMENT_TEXT,
	  .word = tunable_word,
	  .set = set_set,
	  .help = "a tunable by the kernel's name: mb_max_to_scan=20; any number of times;\n"
	          "e2allocsim(8) lists them" },
	{ .name = "compare",
	  .argument = "WHAT",
	  .kind = ARGUMENT_WORDS,
	  .words = "policies|normalizations|windows|patches|main|orphans",
	  .set = set_compare,
	  .help = "policies, patches, normalizations, windows, orphans or main (base, series, ext2mb, and\n"
	          "that with Linux's normalization): several runs, one table; the image stays as it is" },
	{ 0 },
};
