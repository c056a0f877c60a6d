/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/text/shell_word.h"

#include <stdlib.h>
#include <string.h>

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%+,-./:=@_";

/* Within single quotes the shell knows no other character than their end. */
static const char quoted_quote[] = "'\\''";

char *shell_word(const char *text)
{
	size_t length = strlen(text);

	if (*text && strspn(text, plain) == length)
		return strdup(text);
	char *word = malloc(length * strlen(quoted_quote) + sizeof("''"));
	char *end = word;

	if (!word)
		return NULL;
	*end++ = '\'';
	for (; *text; text++) {
		if (*text == '\'')
			end = stpcpy(end, quoted_quote);
		else
			*end++ = *text;
	}
	strcpy(end, "'");
	return word;
}
