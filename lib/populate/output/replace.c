// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/output/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support/io/loop_device.h"
#include "support/run/interrupt.h"

/* A detached loop device closes its file a little later, and indexers look at new files for a moment. */
#define ATTEMPTS 20
#define PAUSE_NANOSECONDS (20 * 1000 * 1000)

struct replacement {
	const char *path;
	const char *advice;
	struct stat status; /* of the file that is there */
	struct problem *problem;
};

static errcode_t refuse(const struct replacement *replacement, errcode_t error, const char *reason)
{
	return problem_set_reason(replacement->problem, error, replacement->path, "cannot replace it", "%s; %s", reason,
	                          replacement->advice);
}

static bool is_mount_point(const char *path)
{
	struct statx status;

	return statx(AT_FDCWD, path, 0, 0, &status) == 0 && (status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) &&
	       (status.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* The error that rename(2) would end with after all the work; 0: none is known. */
static errcode_t directory_error(const struct replacement *replacement)
{
	const char *slash = strrchr(replacement->path, '/');
	SCOPE_FREE char *directory =
		slash ? strndup(replacement->path, (size_t)(slash + 1 - replacement->path)) : strdup(".");
	struct stat status;

	if (!directory)
		return ENOMEM;
	if (access(directory, W_OK | X_OK) < 0 || stat(directory, &status) < 0)
		return errno;
	/* In a sticky directory such as /tmp only a file's owner can replace it. */
	if ((status.st_mode & S_ISVTX) && geteuid() != 0 && status.st_uid != geteuid() &&
	    replacement->status.st_uid != geteuid())
		return EPERM;
	return 0;
}

/* A write lease is granted, to the file's owner and root only, if no other process has the file open. */
static bool is_open_elsewhere(const char *path)
{
	SCOPE_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (descriptor < 0)
		return errno == EWOULDBLOCK;
	/* A process that opens it meanwhile makes the kernel send SIGIO, which ends a program without a handler. */
	if (fcntl(descriptor, F_SETSIG, SIGURG) < 0)
		return false;
	if (fcntl(descriptor, F_SETLEASE, F_WRLCK) < 0)
		return errno == EAGAIN;
	return fcntl(descriptor, F_SETLEASE, F_UNLCK) < 0;
}

/* NULL: no process is known to use it. */
static const char *current_use(const struct replacement *replacement)
{
	if (loop_device_has_open(&replacement->status))
		return "a loop device has it open";
	return is_open_elsewhere(replacement->path) ? "it is open elsewhere" : NULL;
}

errcode_t replace_check(const char *path, const char *advice, struct problem *problem)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NANOSECONDS };
	struct replacement replacement = { .path = path, .advice = advice, .problem = problem };
	const char *use;

	if (stat(path, &replacement.status) < 0)
		return errno == ENOENT ? 0 : problem_set(problem, errno, path, "cannot replace it");
	if (replacement.status.st_nlink > 1)
		return refuse(&replacement, EBUSY, "it has other names (hard links)");
	if (is_mount_point(path))
		return refuse(&replacement, EBUSY, "it is mounted (bind mount)");
	errcode_t error = directory_error(&replacement);
	if (error == ENOMEM)
		return problem_set(problem, error, path, "cannot replace it");
	if (error)
		return refuse(&replacement, error, "its directory does not permit it");
	for (int attempt = 0; (use = current_use(&replacement)) && attempt < ATTEMPTS && !interrupt_pending();
	     attempt++)
		nanosleep(&pause, NULL);
	return use ? refuse(&replacement, EBUSY, use) : 0;
}
