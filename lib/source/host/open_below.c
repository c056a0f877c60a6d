/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/open_below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "support/vector.h"

#define PIECE_COMPONENTS 64

static int call_openat2(int directory, const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned int)flags, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH };

	return (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
}

/*
 * Old container runtimes answer system calls that they do not know with EPERM, but openat2() itself can return EPERM,
 * too. If openat2() exists, it returns EBADF for a descriptor that cannot be open.
 */
static bool lacks_openat2(int error)
{
	return error == ENOSYS || (error == EPERM && call_openat2(-1, ".", O_PATH) < 0 && errno != EBADF);
}

/*
 * pseudo(1), under which Yocto makes images, keeps the path of each descriptor that a function of libc opens. It does
 * not see openat2(), for which libc has no function, and then fails each *at() call on that descriptor with EFAULT.
 */
static bool is_under_pseudo(void)
{
	return getenv("PSEUDO_PREFIX") && getenv("LD_PRELOAD");
}

/* Does the same as openat2(), a component at a time. */
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
	/* Once, not for each file. */
	if (!opener->has_looked) {
		opener->has_looked = true;
		opener->lacks_openat2 = is_under_pseudo();
	}
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
	/* Only owners and root may use O_NOATIME; others change atimes like any reader. */
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

void descender_init(struct descender *descender, int root, ascend_step step, const void *tree)
{
	*descender = (struct descender){ .tree = tree, .step = step, .root = root, .anchor = -1 };
}

void descender_destroy(struct descender *descender)
{
	if (descender->anchor >= 0)
		close(descender->anchor);
	free(descender->pieces);
	descender->anchor = -1;
	descender->pieces = NULL;
}

void descender_forget(struct descender *descender, uint32_t directory)
{
	if (descender->anchor < 0 || descender->anchor_directory != directory)
		return;
	close(descender->anchor);
	descender->anchor = -1;
}

/* Opens a directory by its path from an ancestor, which is open at descriptor `at`. The path must fit PATH_MAX. */
static errcode_t open_between(struct descender *descender, int at, uint32_t ancestor, uint32_t directory, int flags,
                              int *ret)
{
	char path[PATH_MAX];
	size_t start = sizeof(path) - 1;

	path[start] = '\0';
	while (directory != ancestor) {
		struct ascent up = descender->step(descender->tree, directory);

		if (path[start])
			path[--start] = '/';
		start -= up.name_bytes;
		memcpy(path + start, up.name, up.name_bytes);
		directory = up.parent;
	}
	return open_below(&descender->opener, at, path[start] ? path + start : ".", flags | O_DIRECTORY, ret);
}

/*
 * Usually the path from the root is short, and the kernel walks it at some 50 ns a component. A longer path is cut into
 * pieces. The last cut stays open as the anchor, from which neighbours are reached. Short pieces keep a chain of
 * directories from costing the square of its depth.
 */
errcode_t descender_open(struct descender *descender, uint32_t directory, int *ret)
{
	uint32_t at = directory;
	size_t piece_bytes = 0, components = 0, pieces = 0;

	*ret = -1;
	while (at != ASCEND_ROOT && (descender->anchor < 0 || at != descender->anchor_directory)) {
		struct ascent up = descender->step(descender->tree, at);

		if (piece_bytes + up.name_bytes + 1 >= PATH_MAX || components == PIECE_COMPONENTS) {
			errcode_t error = vector_reserve(&descender->pieces, &descender->pieces_capacity, pieces + 1,
			                                 sizeof(*descender->pieces));

			if (error)
				return error;
			descender->pieces[pieces++] = at;
			piece_bytes = components = 0;
		}
		piece_bytes += up.name_bytes + 1;
		components++;
		at = up.parent;
	}
	int base = at == ASCEND_ROOT ? descender->root : descender->anchor;

	while (pieces--) {
		uint32_t cut = descender->pieces[pieces];
		int descriptor;
		errcode_t error = open_between(descender, base, at, cut, O_PATH, &descriptor);

		if (error)
			return error;
		if (descender->anchor >= 0)
			close(descender->anchor);
		base = descender->anchor = descriptor;
		at = descender->anchor_directory = cut;
	}
	return open_between(descender, base, at, directory, O_RDONLY, ret);
}
