/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program of e2fsprogs run as a child process on the image. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

struct child {
	const char *const *arguments; /* NULL-terminated, the first one what program_find() finds */
	const char *path;             /* the name under which the image is being made, as the arguments have it */
	const char *image_path;       /* the name that messages show instead */
	bool has_epoch;               /* pretend that it is */
	int64_t epoch;                /* this time */
	int most_status;              /* the highest exit status that is no failure */
	int output; /* a descriptor to which its standard output goes; 0: it is taken for messages, too */
};

/*
 * Runs it to its end. If it fails, its own words become the problem's reason and action (a string literal,
 * "mke2fs failed") the action. EINVAL: it refused what it was asked for; EIO, ENOSPC and the like: the operating system
 * refused it something; EINTR when a signal ended it. A signal that
 * ends us (support/run/interrupt.h, even SIGKILL) ends it at once. Main thread only.
 */
MUST_CHECK errcode_t child_run(const struct child *child, const char *action, struct problem *problem);
