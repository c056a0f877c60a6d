/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/text_line.h"

#include <errno.h>

#include "support/vector.h"

errcode_t text_line_read(FILE *file, char **line, size_t *capacity, size_t *bytes)
{
	size_t count = 0;
	int byte = 0;

	errno = 0;
	while (byte != '\n' && (byte = getc_unlocked(file)) != EOF) {
		if (count == TEXT_LINE_MOST_BYTES)
			return EFBIG;
		if (count + 2 > *capacity) {
			errcode_t error = vector_reserve(line, capacity, count + 2, 1);

			if (error)
				return error;
		}
		(*line)[count++] = (char)byte;
	}
	if (byte == EOF && ferror(file))
		return errno ? errno : EIO;
	if (count)
		(*line)[count] = '\0';
	*bytes = count;
	return 0;
}
