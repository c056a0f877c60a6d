/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/host_xattrs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "support/vector.h"

/*
 * Not all headers have these numbers yet. They are the same everywhere but on alpha; if the call is missing, /proc is
 * used.
 */
#ifdef __alpha__
#define CALL_getxattrat 574
#define CALL_listxattrat 575
#else
#define CALL_getxattrat 464
#define CALL_listxattrat 465
#endif

/*
 * The kernel allocates as many bytes as it is offered, whole pages from 8 KiB on. With the largest possible size, a
 * scan of 84 000 entries without xattrs took 159 ms of processor time instead of 136 ms (tmpfs, two threads). So a
 * usual size is tried first.
 */
#define USUAL_BYTES 1024

struct getxattrat_arguments { /* struct xattr_args */
	uint64_t value __attribute__((aligned(8)));
	uint32_t size;
	uint32_t flags;
};

/*
 * The way to a file's xattrs: its descriptor, its name in a directory, or that name after the link that /proc has to
 * the directory.
 */
struct place {
	int descriptor;
	const char *name; /* NULL: the descriptor is the file itself */
	const char *link; /* NULL: the file is reached by name */
};

static bool is_unknown(long result)
{
	return result < 0 && (errno == ENOSYS || errno == EPERM);
}

/*
 * True if the calls that take a directory are missing. Both are called so that they fail, with EBADF if they exist. Old
 * container runtimes answer calls that they do not know with EPERM. Only the C library's calls see the xattrs that
 * fakeroot(1) and similar tools pretend.
 */
static bool lacks_at_calls(void)
{
	struct getxattrat_arguments arguments = { 0 };

	return getenv("LD_PRELOAD") || is_unknown(syscall(CALL_listxattrat, -1, "name", 0, NULL, (size_t)0)) ||
	       is_unknown(syscall(CALL_getxattrat, -1, "name", 0, "user.name", &arguments, sizeof(arguments)));
}

errcode_t host_xattrs_init(struct host_xattrs *xattrs)
{
	*xattrs = (struct host_xattrs){ .names = malloc(XATTR_LIST_MAX) };
	if (!xattrs->names)
		return ENOMEM;
	xattrs->lacks_at_calls = lacks_at_calls();
	return 0;
}

void host_xattrs_destroy(struct host_xattrs *xattrs)
{
	free(xattrs->list);
	free(xattrs->names);
	free(xattrs->values);
	*xattrs = (struct host_xattrs){ 0 };
}

/* Reads the value of an xattr; xattr NULL: the names of all. */
static ssize_t read_up_to(const struct place *place, const char *xattr, void *to, size_t bytes)
{
	struct getxattrat_arguments arguments = { .value = (uintptr_t)to, .size = (uint32_t)bytes };

	if (place->link)
		return xattr ? lgetxattr(place->link, xattr, to, bytes) : llistxattr(place->link, to, bytes);
	if (!place->name)
		return xattr ? fgetxattr(place->descriptor, xattr, to, bytes) :
		               flistxattr(place->descriptor, to, bytes);
	return xattr ? syscall(CALL_getxattrat, place->descriptor, place->name, AT_SYMLINK_NOFOLLOW, xattr, &arguments,
	                       sizeof(arguments)) :
	               syscall(CALL_listxattrat, place->descriptor, place->name, AT_SYMLINK_NOFOLLOW, to, bytes);
}

static ssize_t read_whole(const struct place *place, const char *xattr, void *to)
{
	ssize_t bytes = read_up_to(place, xattr, to, USUAL_BYTES);

	if (bytes >= 0 || errno != ERANGE)
		return bytes;
	return read_up_to(place, xattr, to, xattr ? XATTR_SIZE_MAX : XATTR_LIST_MAX);
}

/*
 * True for errors of permission, and for xattrs that the filesystem lacks. If a disk's failure (EIO) were taken for
 * one, ACLs and labels would be lost unseen.
 */
static bool is_unreadable(errcode_t error)
{
	return error == EACCES || error == EPERM || error == ENOTSUP;
}

static void note_unread(struct host_xattrs *xattrs, errcode_t error)
{
	if (!xattrs->unread_count++)
		xattrs->unread_error = error;
}

static errcode_t read_values(struct host_xattrs *xattrs, const struct place *place, size_t names_bytes)
{
	size_t used = 0;

	for (const char *name = xattrs->names; name < xattrs->names + names_bytes; name += strlen(name) + 1) {
		if (!tree_xattr_is_kept(name)) {
			xattrs->has_unknown = true;
			continue;
		}
		errcode_t error = vector_reserve(&xattrs->values, &xattrs->values_capacity, used + XATTR_SIZE_MAX, 1);

		if (!error)
			error = vector_reserve(&xattrs->list, &xattrs->list_capacity, xattrs->count + 1,
			                       sizeof(*xattrs->list));
		if (error)
			return error;
		ssize_t bytes = read_whole(place, name, xattrs->values + used);

		if (bytes < 0 && errno == ENODATA) /* it was removed since it was listed */
			continue;
		if (bytes < 0 && is_unreadable(errno)) {
			note_unread(xattrs, errno);
			continue;
		}
		if (bytes < 0)
			return errno;
		xattrs->list[xattrs->count++] = (struct tree_xattr){ .name = name, .value_bytes = (uint32_t)bytes };
		used += (size_t)bytes;
	}

	/* The buffer no longer moves, so values can be pointed to. */
	const unsigned char *value = xattrs->values;

	for (uint32_t i = 0; i < xattrs->count; i++) {
		xattrs->list[i].value = value;
		value += xattrs->list[i].value_bytes;
	}
	if (xattrs->count > 1)
		qsort(xattrs->list, xattrs->count, sizeof(*xattrs->list), tree_xattr_compare);
	return 0;
}

static errcode_t read_place(struct host_xattrs *xattrs, const struct place *place)
{
	xattrs->count = xattrs->unread_count = 0;
	xattrs->has_unknown = false;
	ssize_t names_bytes = read_whole(place, NULL, xattrs->names);

	if (names_bytes < 0 && errno != ENOTSUP && is_unreadable(errno)) {
		note_unread(xattrs, errno);
		return 0;
	}
	if (names_bytes < 0)
		return errno;
	return names_bytes ? read_values(xattrs, place, (size_t)names_bytes) : 0;
}

errcode_t host_xattrs_read(struct host_xattrs *xattrs, int descriptor)
{
	const struct place place = { .descriptor = descriptor };

	return read_place(xattrs, &place);
}

/*
 * If the calls that take a directory are missing, /proc's link to the open directory is used. It leads to that very
 * directory, wherever it has been moved. (Opening each file with O_PATH and listing by its own link takes 7.5 us an
 * entry; this and fstatat(2) take 6.0, and fstatat(2) with listxattrat(2) takes 2.9; tmpfs.)
 */
errcode_t host_xattrs_read_at(struct host_xattrs *xattrs, int directory, const char *name)
{
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(directory) + NAME_MAX + 1];
	struct place place = { .descriptor = directory, .name = name };

	if (xattrs->lacks_at_calls) {
		if ((size_t)snprintf(link, sizeof(link), "/proc/self/fd/%d/%s", directory, name) >= sizeof(link))
			return ENAMETOOLONG;
		place.link = link;
	}
	errcode_t error = read_place(xattrs, &place);

	xattrs->lacks_proc = place.link && error == ENOENT && access("/proc/self/fd", F_OK);
	return error;
}
