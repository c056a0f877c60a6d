/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/utf8.h"

#include <stdlib.h>
#include <string.h>

#include "support/cleanup.h"

static unsigned int length_by_first(unsigned char byte)
{
	if (byte < 0x80)
		return 1;
	if (byte < 0xc2) /* in the middle of a character, or two bytes for what one can say */
		return 0;
	return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf5 ? 4 : 0;
}

unsigned int utf8_decode(const char *bytes, size_t count, uint32_t *ret)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int length = count ? length_by_first((unsigned char)*bytes) : 0;
	uint32_t code = length ? (unsigned char)*bytes & (length == 1 ? 0x7fu : 0x7fu >> length) : 0;

	*ret = code;
	if (length <= 1)
		return length;
	if (length > count)
		return 0;
	for (unsigned int n = 1; n < length; n++) {
		unsigned char byte = (unsigned char)bytes[n];

		if ((byte & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (byte & 0x3f);
	}
	bool is_surrogate = code >= 0xd800 && code < 0xe000;

	*ret = code;
	return code < smallest[length] || is_surrogate || code > 0x10ffff ? 0 : length;
}

unsigned int utf8_length(const char *bytes, size_t count)
{
	uint32_t code;

	return utf8_decode(bytes, count, &code);
}

bool utf8_is_seen(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0, 0x1f },       /* control characters, C0 */
		{ 0x7f, 0x9f },    /* and C1: U+009B begins a command to the terminal like ESC [ */
		{ 0x61c, 0x61c },  /* the direction of writing */
		{ 0x200e, 0x200f },
		{ 0x2028, 0x202e }, /* the ends of lines and paragraphs; directions again */
		{ 0x2066, 0x2069 },
	};

	for (size_t n = 0; n < sizeof(ranges) / sizeof(*ranges); n++)
		if (code >= ranges[n].first && code <= ranges[n].last)
			return false;
	return true;
}

static bool is_octal(char byte)
{
	return byte >= '0' && byte <= '7';
}

/* A backslash that would be taken for the beginning of \ooo. */
static bool is_like_ours(const char *bytes, size_t count)
{
	return count >= 4 && bytes[0] == '\\' && is_octal(bytes[1]) && is_octal(bytes[2]) && is_octal(bytes[3]);
}

char *utf8_printable(const char *bytes, size_t count)
{
	char *text = malloc(4 * count + 1), *to = text;

	if (!text)
		return NULL;
	for (size_t at = 0; at < count;) {
		uint32_t code;
		unsigned int length = utf8_decode(bytes + at, count - at, &code);

		if (!length || !utf8_is_seen(code) || is_like_ours(bytes + at, count - at)) {
			to += sprintf(to, "\\%03o", (unsigned char)bytes[at++]);
		} else {
			to = mempcpy(to, bytes + at, length);
			at += length;
		}
	}
	*to = '\0';
	return text;
}

void utf8_print(const char *text, FILE *stream)
{
	SCOPE_FREE char *shown = utf8_printable(text, strlen(text));

	fputs(shown ? shown : "?", stream);
}
