/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/io/whole_io.h"

#include <errno.h>
#include <unistd.h>

errcode_t whole_read(int descriptor, void *bytes, size_t count, uint64_t offset)
{
	for (char *to = bytes; count;) {
		ssize_t got = pread(descriptor, to, count, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? errno : ENODATA;
		to += got;
		count -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

errcode_t whole_write(int descriptor, const void *bytes, size_t count, uint64_t offset)
{
	for (const char *from = bytes; count;) {
		ssize_t written = pwrite(descriptor, from, count, (off_t)offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? errno : EIO;
		from += written;
		count -= (size_t)written;
		offset += (uint64_t)written;
	}
	return 0;
}

errcode_t flush_output(FILE *stream)
{
	errno = 0;
	if (fflush(stream) || ferror(stream))
		return errno ? errno : EIO;
	return 0;
}
