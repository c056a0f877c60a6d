/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/size/projects_wanted.h"

#include <string.h>

#include "populate/size/size_trial.h"

/* This size is enough for an empty filesystem with any features. */
#define EMPTY_SIZE "2M"

/* True if the option's letter is one that sets features. */
static bool says_features(const char *option)
{
	return option[0] == '-' && option[1] && strchr("tTO", option[1]);
}

/* Makes the -E list of the options that set features; NULL if nothing is left. */
static errcode_t feature_extensions(const struct populate_options *options, char **ret)
{
	SCOPE_FREE char *types = NULL;

	*ret = NULL;
	if (!extended_has(options->extended, "quotatype"))
		return 0;
	errcode_t error = extended_value(options->extended, "quotatype", &types);

	if (error)
		return error;
	return asprintf(ret, "quotatype=%s", types) < 0 ? ENOMEM : 0;
}

/* Makes a filesystem with these features, and reads it. */
static errcode_t look(const struct populate_options *options, char **arguments, const char *extended,
                      struct filesystem_room *room, struct problem *problem)
{
	static const struct identity identity = {
		.uuid = "00000000-0000-0000-0000-000000000001",
		.hash_seed = "00000000-0000-0000-0000-000000000001",
	};
	struct populate_options small = *options;
	struct trial_file scratch;
	errcode_t error = trial_file_open(&scratch, problem);

	small.mke2fs = arguments;
	small.extended = extended;
	small.uuid = NULL;
	small.mke2fs_output = 0;
	const struct mke2fs_run run = {
		.options = &small,
		.identity = &identity,
		.path = scratch.path,
		.size = EMPTY_SIZE,
	};
	if (!error)
		error = mke2fs_run(&run, problem);
	if (!error)
		error = filesystem_look(scratch.path, 0, options->image, room, problem);
	trial_file_close(&scratch);
	return error;
}

errcode_t projects_wanted(const struct populate_options *options, bool *ret, struct problem *problem)
{
	struct problem refusal = { 0 };
	struct filesystem_room room = { 0 };
	SCOPE_FREE char *extended = NULL;
	size_t count = 0, kept = 0;

	while (options->mke2fs && options->mke2fs[count])
		count++;
	SCOPE_FREE char **arguments = calloc(count + 1, sizeof(*arguments));
	errcode_t error = arguments ? feature_extensions(options, &extended) : ENOMEM;

	if (error)
		return error;
	for (size_t i = 0; i < count; i++)
		if (says_features(options->mke2fs[i]))
			arguments[kept++] = options->mke2fs[i];
	error = look(options, arguments, extended, &room, &refusal);
	*ret = error || room.format.project;
	if (error && !size_is_refused(error)) {
		problem_move(problem, &refusal);
		return error;
	}
	/* If mke2fs refuses this, too, it will refuse again later, with its reason. */
	problem_clear(&refusal);
	return 0;
}
