/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "shell.h"

#include <errno.h>
#include <inttypes.h>

#include "command/tool.h"
#include "compare/user_library.h"
#include "requests.h"
#include "words.h"

void shell_fail(struct shell *shell, int status)
{
	if (!shell->status)
		shell->status = status;
}

int shell_tell_corruption(struct shell *shell)
{
	struct filesystem *filesystem = &shell->filesystem;
	struct ext2mb_stats stats = { .struct_bytes = sizeof(stats) };

	if (!filesystem_is_open(filesystem) || ext2mb_read_stats(filesystem->mb, &stats) ||
	    stats.corrupt_groups == filesystem->corrupt_groups)
		return EXIT_SUCCESS;
	filesystem->corrupt_groups = stats.corrupt_groups;
	shell_fail(shell, print_failure_reason(EXT2MB_ET_CORRUPT_GROUP, place_shown(&filesystem->place),
	                                       "the filesystem is damaged",
	                                       "%" PRIu64 " group%s corrupt and left out: run e2fsck",
	                                       stats.corrupt_groups, stats.corrupt_groups == 1 ? " is" : "s are"));
	return EXIT_FAILURE;
}

void shell_tell_end(const struct shell *shell)
{
	const struct place *place = &shell->filesystem.place;
	struct problem problem = { 0 };

	if (target_check_end(&place->target, place_shown(place), "cannot read all of it", &problem))
		print_problem(&problem);
}

errcode_t shell_explain_policy(struct shell *shell, errcode_t error)
{
	const struct ext2mb *mb = shell->filesystem.mb;
	const char *failure = error && mb ? policy_failure(mb) : NULL;

	if (!failure || error == WRONG_USAGE || error == FAILURE_IS_TOLD)
		return error;
	problem_clear(&shell->problem);
	return problem_set_reason(&shell->problem, ELIBBAD, shell->policy.user->path, "wrong answer", "%s", failure);
}
