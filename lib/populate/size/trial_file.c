// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/size/trial_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static errcode_t open_named(struct trial_file *scratch, struct problem *problem)
{
	const char *folder = getenv("TMPDIR");

	scratch->is_named = true;
	if (asprintf(&scratch->path, "%s/e2populate.XXXXXX", folder && *folder ? folder : "/tmp") < 0) {
		scratch->path = NULL;
		return problem_set(problem, ENOMEM, NULL, "cannot make a temporary file");
	}
	scratch->descriptor = mkostemp(scratch->path, O_CLOEXEC);
	if (scratch->descriptor >= 0)
		return 0;
	int error = errno;

	scratch->is_named = false;
	return problem_set(problem, error, scratch->path, "cannot make a temporary file");
}

errcode_t trial_file_open(struct trial_file *scratch, struct problem *problem)
{
	*scratch = (struct trial_file){ .descriptor = memfd_create("e2populate", 0) };
	if (scratch->descriptor < 0)
		return open_named(scratch, problem);
	/* Children inherit it, so one name serves all. */
	if (asprintf(&scratch->path, "/proc/self/fd/%d", scratch->descriptor) < 0) {
		scratch->path = NULL;
		return problem_set(problem, ENOMEM, NULL, "cannot make a temporary file");
	}
	if (access(scratch->path, R_OK | W_OK) == 0)
		return 0;
	trial_file_close(scratch);
	return open_named(scratch, problem);
}

void trial_file_close(struct trial_file *scratch)
{
	if (scratch->descriptor >= 0)
		close(scratch->descriptor);
	scratch->descriptor = -1;
	if (scratch->is_named)
		unlink(scratch->path);
	free(TAKE(scratch->path));
}
