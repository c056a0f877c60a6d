/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/forms/page.h"

#include <string.h>

#include "support/io/whole_io.h"

#define NAME_BYTES 16

extern const char page_css[], page_dark_css[];

errcode_t page_fill(const char *text, errcode_t (*write_part)(void *context, const char *name), void *context,
                    FILE *stream)
{
	const char *mark;

	while ((mark = strstr(text, "{{"))) {
		const char *end = strstr(mark, "}}");
		char name[NAME_BYTES];
		errcode_t error = 0;

		fwrite(text, 1, (size_t)(mark - text), stream);
		snprintf(name, sizeof(name), "%.*s", (int)(end - mark - 2), mark + 2);
		if (strcmp(name, "style") == 0)
			fputs(page_css, stream);
		else if (strcmp(name, "dark") == 0)
			fputs(page_dark_css, stream);
		else
			error = write_part(context, name);
		if (error)
			return error;
		text = end + 2;
	}
	fputs(text, stream);
	return flush_output(stream);
}
