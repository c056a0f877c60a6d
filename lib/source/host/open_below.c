/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/open_below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#include "support/cleanup.h"

static int call_openat2(int directory, const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned int)flags, .resolve = RESOLVE_NO_SYMLINKS };

	return (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
}

/*
 * Old container runtimes answer system calls that they do not know with EPERM, which openat2() can say itself. Of a
 * descriptor that cannot be open it says EBADF.
 */
static bool lacks_openat2(int error)
{
	return error == ENOSYS || (error == EPERM && call_openat2(-1, ".", O_PATH) < 0 && errno != EBADF);
}

/* The same, a component at a time. */
static int walk(int directory, const char *path, int flags)
{
	SCOPE_CLOSE int at = -1;
	char name[NAME_MAX + 1];

	for (;;) {
		size_t bytes = strcspn(path, "/");
		bool is_last = !path[bytes + strspn(path + bytes, "/")];

		if (bytes > NAME_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(name, path, bytes);
		name[bytes] = '\0';
		int next = openat(at < 0 ? directory : at, name,
		                  is_last ? flags : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (next < 0 || is_last)
			return next;
		cleanup_close_descriptor(&at);
		at = next;
		path += bytes + strspn(path + bytes, "/");
	}
}

static int open_once(struct opener *opener, int directory, const char *path, int flags)
{
	if (!opener->lacks_openat2 && strlen(path) < PATH_MAX) {
		int descriptor = call_openat2(directory, path, flags), error = errno;

		if (descriptor >= 0)
			return descriptor;
		opener->lacks_openat2 = lacks_openat2(error);
		errno = error;
		if (!opener->lacks_openat2)
			return -1;
	}
	return walk(directory, path, flags);
}

errcode_t open_below(struct opener *opener, int directory, const char *path, int flags, int *descriptor)
{
	flags |= O_NOFOLLOW | O_CLOEXEC;
	/* O_NOATIME is for owners and root; who may not use it leaves traces like any reader. */
	if (!(flags & O_PATH) && !opener->keeps_no_atime) {
		*descriptor = open_once(opener, directory, path, flags | O_NOATIME);
		if (*descriptor >= 0)
			return 0;
		if (errno != EPERM)
			return errno;
		opener->keeps_no_atime = true;
	}
	*descriptor = open_once(opener, directory, path, flags);
	return *descriptor < 0 ? errno : 0;
}
