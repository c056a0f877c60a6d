/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/io/whole_io.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

static errcode_t transfer(int descriptor, char *bytes, size_t count, uint64_t offset, bool is_write)
{
	while (count) {
		ssize_t moved = is_write ? pwrite(descriptor, bytes, count, (off_t)offset) :
		                           pread(descriptor, bytes, count, (off_t)offset);

		if (moved < 0 && errno == EINTR)
			continue;
		if (moved <= 0)
			return moved ? errno : is_write ? EIO : ENODATA;
		bytes += moved;
		count -= (size_t)moved;
		offset += (uint64_t)moved;
	}
	return 0;
}

errcode_t whole_read(int descriptor, void *bytes, size_t count, uint64_t offset)
{
	return transfer(descriptor, bytes, count, offset, false);
}

errcode_t whole_write(int descriptor, const void *bytes, size_t count, uint64_t offset)
{
	/* The bytes are only read. */
	return transfer(descriptor, (char *)(uintptr_t)bytes, count, offset, true);
}

errcode_t flush_output(FILE *stream)
{
	errno = 0;
	if (fflush(stream) || ferror(stream))
		return errno ? errno : EIO;
	return 0;
}
