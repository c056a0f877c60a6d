/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/forms/forms.h"
#include "support/io/whole_io.h"
#include "support/utf8.h"

errcode_t form_list(const struct report *report, bool ends_with_nul, FILE *stream)
{
	for (size_t n = 0; n < report->worst.count; n++) {
		const char *path = report->worst.files[n].path;

		if (!path)
			continue;
		if (ends_with_nul)
			fputs(path, stream);
		else
			utf8_print(path, stream);
		fputc(ends_with_nul ? '\0' : '\n', stream);
	}
	return flush_output(stream);
}
