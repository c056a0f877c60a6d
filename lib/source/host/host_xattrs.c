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

/* Not yet in all headers; the same everywhere but on alpha, where a missing call leads to /proc. */
#ifdef __alpha__
#define CALL_getxattrat 574
#define CALL_listxattrat 575
#else
#define CALL_getxattrat 464
#define CALL_listxattrat 465
#endif

/*
 * The kernel allocates as much as it is offered, whole pages from 8 KiB on: offering the largest size there can
 * be took a scan of 84 000 entries without xattrs 159 ms of processor time instead of 136 ms (tmpfs, two threads).
 * So what is usual is tried first.
 */
#define USUAL_BYTES 1024

struct getxattrat_arguments { /* struct xattr_args */
	uint64_t value __attribute__((aligned(8)));
	uint32_t size;
	uint32_t flags;
};

/* How a file's xattrs are reached: by its descriptor, its name in a directory, or that name after the link that /proc
 * has to the directory. */
struct place {
	int descriptor;
	const char *name; /* NULL: the descriptor's own */
	const char *link; /* NULL: by name */
};

static bool is_unknown(long result)
{
	return result < 0 && (errno == ENOSYS || errno == EPERM);
}

/*
 * They fail either way, with EBADF if there are such calls; old container runtimes answer calls that they do not know
 * with EPERM. Only the C library's calls see what fakeroot(1) and its like pretend.
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

/* The value of an xattr, or the names of all for NULL. */
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

/* A matter of rights, or of what the filesystem has. A disk that fails (EIO) would lose ACLs and labels unseen. */
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

		if (bytes < 0 && errno == ENODATA) /* removed since it was listed */
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

	/* Only now does the buffer stay where it is. */
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
 * Without the calls that take a directory, /proc has a link to the open directory: it leads to that very one, wherever
 * it has been moved meanwhile. (Opening each file with O_PATH and listing by its own link takes 7.5 us an entry where
 * this and fstatat(2) take 6.0, and fstatat(2) with listxattrat(2) 2.9; tmpfs.)
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
