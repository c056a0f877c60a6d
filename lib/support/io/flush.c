// SPDX-License-Identifier: LGPL-2.1-or-later
#include "support/io/flush.h"

#include <errno.h>

errcode_t flush_output(FILE *stream)
{
	errno = 0;
	if (fflush(stream) || ferror(stream))
		return errno ? errno : EIO;
	return 0;
}
