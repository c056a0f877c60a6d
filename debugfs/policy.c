/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands for the policy and the tunables, which have the kernel's names if it has them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "compare/user_library.h"
#include "compare/tunables.h"
#include "listing.h"
#include "requests.h"
#include "words.h"

static errcode_t list(struct shell *shell)
{
	static const struct column columns[] = { { "name", -28 }, { "value", -9 }, { "remark", -12 }, { 0 } };
	struct listing listing;

	listing_begin(&listing, shell->is_json, columns);
	for (const struct tunable *tunable = all_tunables; tunable->name; tunable++) {
		uint64_t value = tunable->get ? tunable->get(shell->filesystem.mb, &shell->policy) : 0;
		const char *text = tunable->text ? tunable->text(&shell->policy) : NULL;

		listing_row(&listing, (const struct cell[]){
					      TEXT_CELL(tunable->name),
					      { .text = !tunable->get  ? "-" :
		                                        text           ? text :
		                                        tunable->words ? tunable->words[value] :
		                                                         NULL,
		                                .number = value },
					      TEXT_CELL(tunable->get ? "can be set" : "not modelled"),
				      });
	}
	return listing_end(&listing);
}

/* Attaches another allocator and checks that it took the value: it may round it, or not have this tunable on this
 * filesystem. */
static errcode_t attach(struct shell *shell, const struct tunable *tunable)
{
	errcode_t error = filesystem_attach(&shell->filesystem, &shell->policy);

	user_library_explain(shell->policy.user, error, &shell->problem);
	if (error)
		return problem_set(&shell->problem, error, NULL, "policy");
	return tunable ? tunable_verify(tunable, shell->filesystem.mb, &shell->policy, &shell->problem) : 0;
}

/* tunable is the option that changes; NULL: the user's library. */
static errcode_t change(struct shell *shell, const struct policy_options *options, const struct tunable *tunable)
{
	struct filesystem *filesystem = &shell->filesystem;
	const struct policy_options before = shell->policy;

	shell->policy = *options;
	errcode_t error = attach(shell, tunable);

	if (error) {
		/* Restores the old policy; if that fails, the filesystem is closed. The message says why the new one
		 * failed. */
		shell->policy = before;
		errcode_t second = filesystem_attach(filesystem, &shell->policy);

		if (second)
			second = filesystem_close(filesystem, &shell->problem);
		error = second ? second : error;
	}
	shell->counted = (struct ext2mb_stats){ .struct_bytes = sizeof(shell->counted) };
	filesystem->corrupt_groups = 0;
	return error;
}

/* A new allocator would lose what the old one has not written. */
static errcode_t refuse_changed(struct shell *shell)
{
	if (!shell->filesystem.is_changed)
		return 0;
	return problem_set_reason(&shell->problem, EBUSY, NULL, "policy", "there are changes: sync first");
}

/* Options that are fixed when an allocator opens need a new allocator. */
static errcode_t apply(struct shell *shell, const struct tunable *tunable, uint64_t value)
{
	struct policy_options options = shell->policy;
	errcode_t error = tunable->is_live ? 0 : refuse_changed(shell);

	if (error)
		return error;
	tunable_set(tunable, &options, value);
	if (!tunable->is_live)
		return change(shell, &options, tunable);
	ext2mb_set_optimize_scan(shell->filesystem.mb, (int)value);
	shell->policy = options;
	return 0;
}

static errcode_t use_library(struct shell *shell, const char *path)
{
	struct policy_options options = shell->policy;
	struct user_library *library;
	errcode_t error = refuse_changed(shell);

	if (!error)
		error = user_library_load(path, &library, &shell->problem);
	if (error)
		return error;
	options.policy = POLICY_USER;
	options.user = library;
	error = change(shell, &options, NULL);
	user_library_unload(error ? library : shell->user);
	if (!error)
		shell->user = library;
	return error;
}

errcode_t request_policy(struct shell *shell)
{
	if (shell->word_count == 1)
		return list(shell);
	if (user_library_is_path(shell->words[1]))
		return use_library(shell, shell->words[1]);
	SCOPE_FREE char *name = strdup(shell->words[1]);
	if (!name)
		return ENOMEM;
	char *text = strchr(name, '=');
	uint64_t value;

	/* A name without a value is a policy. */
	if (text)
		*text++ = '\0';
	const struct tunable *tunable = tunable_find(text ? name : "policy");
	if (!tunable)
		return words_refuse(&shell->problem, name, "there is no such tunable");
	errcode_t error = tunable_read(tunable, text ? text : name, &value, &shell->problem);
	if (error)
		return error == EINVAL ? WRONG_USAGE : error;
	return apply(shell, tunable, value);
}
