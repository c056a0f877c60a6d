/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded: files of the host of which the folder $HOST_VERITY has NAME.descriptor are protected by fs-verity, as if
 * the host's kernel had it; NAME.signature is their signature. As in the kernel, a filesystem that can have protected
 * files answers differently for those that are not.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/fsverity.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct read_argument {
	uint64_t kind, offset, length, buffer, reserved;
};
#define READ_METADATA _IOWR('f', 135, struct read_argument)

int statx(int directory, const char *restrict name, int flags, unsigned int mask, struct statx *restrict answer);

/* Reads a file of the folder; -1: it has none. */
static ssize_t read_part(const char *name, const char *part, void *bytes, size_t count)
{
	const char *folder = getenv("HOST_VERITY");
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.%s", folder ? folder : "", name, part);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);

	if (descriptor < 0)
		return -1;
	ssize_t got = read(descriptor, bytes, count);

	close(descriptor);
	return got;
}

int statx(int directory, const char *restrict name, int flags, unsigned int mask, struct statx *restrict answer)
{
	int (*next)(int, const char *, int, unsigned int, struct statx *) =
		(int (*)(int, const char *, int, unsigned int, struct statx *))dlsym(RTLD_NEXT, "statx");
	int failed = next(directory, name, flags, mask, answer);
	char byte;

	if (!failed && read_part(name, "descriptor", &byte, 1) >= 0)
		answer->stx_attributes |= STATX_ATTR_VERITY;
	return failed;
}

static int read_metadata(const char *name, const struct read_argument *argument)
{
	ssize_t got = read_part(name, argument->kind == 2 ? "descriptor" : "signature",
	                        (void *)(uintptr_t)argument->buffer, argument->length);

	if (got < 0)
		errno = ENODATA;
	return (int)got;
}

int ioctl(int descriptor, unsigned long request, ...)
{
	int (*next)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	char link[64], path[4096] = "", byte;
	va_list arguments;

	va_start(arguments, request);
	void *argument = va_arg(arguments, void *);

	va_end(arguments);
	if (request != FS_IOC_MEASURE_VERITY && request != READ_METADATA)
		return next(descriptor, request, argument);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
	if (readlink(link, path, sizeof(path) - 1) < 0)
		return -1;
	if (request == READ_METADATA)
		return read_metadata(basename(path), argument);
	errno = read_part(basename(path), "descriptor", &byte, 1) < 0 ? ENODATA : EOVERFLOW;
	return -1;
}
