/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/text/markup.h"

void markup_print(const char *text, size_t count, FILE *stream)
{
	for (size_t n = 0; n < count; n++) {
		if (text[n] == '&')
			fputs("&amp;", stream);
		else if (text[n] == '<')
			fputs("&lt;", stream);
		else if (text[n] == '>')
			fputs("&gt;", stream);
		else
			fputc(text[n], stream);
	}
}
