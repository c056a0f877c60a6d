// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/format/mke2fs.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "populate/format/child.h"

#define OWN_ARGUMENTS 16

/* NULL without any. The caller frees it. */
static errcode_t extended_options(const struct mke2fs_run *run, char **ret)
{
	const char *given = run->options->extended;
	int done = 0;

	*ret = NULL;
	if (run->offset_bytes)
		done = asprintf(ret, "offset=%" PRIu64 "%s%s", run->offset_bytes, given ? "," : "", given ? given : "");
	else if (given)
		done = asprintf(ret, "%s", given);
	return done < 0 ? ENOMEM : 0;
}

errcode_t mke2fs_run(const struct mke2fs_run *run, struct problem *problem)
{
	const struct populate_options *options = run->options;
	char inodes[32], block_bytes[32];
	SCOPE_FREE char *extended = NULL;
	size_t count = 0, next = 0;

	while (options->mke2fs && options->mke2fs[count])
		count++;
	SCOPE_FREE const char **arguments = calloc(count + OWN_ARGUMENTS, sizeof(*arguments));
	if (!arguments)
		return problem_set(problem, ENOMEM, options->image, "mke2fs failed");
	arguments[next++] = "mke2fs";
	for (size_t option = 0; option < count; option++)
		arguments[next++] = options->mke2fs[option];
	/* Of an empty file it would find all blocks bad, and badblocks(8) knows no offset. */
	if (run->is_device && !run->offset_bytes && options->bad_block_checks > 0)
		arguments[next++] = options->bad_block_checks > 1 ? "-cc" : "-c";
	arguments[next++] = options->mke2fs_output ? "-v" : "-q";
	errcode_t error = extended_options(run, &extended);
	if (error)
		return problem_set(problem, error, options->image, "mke2fs failed");
	if (extended) {
		arguments[next++] = "-E";
		arguments[next++] = extended;
	}
	if (options->uuid) {
		arguments[next++] = "-U";
		arguments[next++] = options->uuid;
	}
	if (run->inodes) {
		snprintf(inodes, sizeof(inodes), "-N%" PRIu64, run->inodes);
		arguments[next++] = inodes;
	}
	if (run->block_bytes) {
		snprintf(block_bytes, sizeof(block_bytes), "-b%" PRIu32, run->block_bytes);
		arguments[next++] = block_bytes;
	}
	arguments[next++] = run->path;
	if (run->size)
		arguments[next++] = run->size;

	/* What an earlier run said was about a filesystem that is no more. */
	if (options->mke2fs_output &&
	    (ftruncate(options->mke2fs_output, 0) < 0 || lseek(options->mke2fs_output, 0, SEEK_SET) < 0))
		return problem_set(problem, errno, options->image, "mke2fs failed");

	const struct child child = {
		.program = "mke2fs",
		.arguments = (char *const *)arguments,
		.path = run->path,
		.image_path = options->image,
		.has_epoch = options->has_epoch,
		.epoch = populate_clock(options),
		.output = options->mke2fs_output,
	};
	return child_run(&child, "mke2fs failed", problem);
}
