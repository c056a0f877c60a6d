/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unpack/sparse_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "support/io/unnamed_file.h"
#include "support/io/whole_io.h"
#include "support/zeros.h"

/* A hole is at least this long: the block size of most filesystems. */
#define HOLE_BYTES 4096

const char *sparse_file_folder(void)
{
	const char *chosen = getenv("TMPDIR");

	return chosen && *chosen ? chosen : "/var/tmp";
}

errcode_t sparse_file_create(int *ret, struct problem *problem)
{
	const char *place = sparse_file_folder();
	errcode_t error = unnamed_file_open(place, ret);

	return error ? problem_set(problem, error, place, "cannot make a temporary file") : 0;
}

static errcode_t failure(errcode_t error, const char *path, struct problem *problem)
{
	return problem_set_reason(problem, error, path, "cannot unpack", "%s in %s; TMPDIR names another directory",
	                          strerror((int)error), sparse_file_folder());
}

errcode_t sparse_file_write(int descriptor, const void *bytes, size_t count, uint64_t at, const char *path,
                            struct problem *problem)
{
	const uint8_t *next = bytes, *end = next + count;

	while (next < end) {
		const uint8_t *from = next;

		/* A run of blocks with something in them, and the hole after it. */
		while (next < end) {
			size_t part = (size_t)(end - next) < HOLE_BYTES ? (size_t)(end - next) : HOLE_BYTES;

			if (bytes_are_zero(next, part))
				break;
			next += part;
		}
		errcode_t error = next == from ? 0 :
		                                 whole_write(descriptor, from, (size_t)(next - from),
		                                             at + (uint64_t)(from - (const uint8_t *)bytes));

		if (error)
			return failure(error, path, problem);
		if (next < end)
			next += (size_t)(end - next) < HOLE_BYTES ? (size_t)(end - next) : HOLE_BYTES;
	}
	return 0;
}

errcode_t sparse_file_check_room(int descriptor, uint64_t bytes, const char *path, struct problem *problem)
{
	struct statvfs room;

	if (fstatvfs(descriptor, &room) || !room.f_blocks || bytes / room.f_frsize < room.f_bfree)
		return 0;
	return failure(ENOSPC, path, problem);
}

errcode_t sparse_file_end(int descriptor, uint64_t size_bytes, const char *path, struct problem *problem)
{
	if (size_bytes > INT64_MAX)
		return failure(EFBIG, path, problem);
	return ftruncate(descriptor, (off_t)size_bytes) ? failure(errno, path, problem) : 0;
}
