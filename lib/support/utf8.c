/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/utf8.h"

#include <stdlib.h>
#include <string.h>

static unsigned int length_by_first(unsigned char byte)
{
	if (byte < 0x80)
		return 1;
	if (byte < 0xc2) /* a continuation byte, or two bytes for a character of one */
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

bool utf8_is_seen(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0, 0x1f },                            /* control characters, C0 */
		{ 0x7f, 0x9f },                         /* and C1: U+009B begins a command to the terminal like ESC [ */
		{ 0x61c, 0x61c },                       /* writing direction */
		{ 0x200e, 0x200f }, { 0x2028, 0x202e }, /* ends of lines and paragraphs; writing direction */
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

/* Returns whether a backslash would look like the beginning of our \ooo. */
static bool is_like_ours(const char *bytes, size_t count)
{
	return count >= 4 && bytes[0] == '\\' && is_octal(bytes[1]) && is_octal(bytes[2]) && is_octal(bytes[3]);
}

/* Writes the visible form of the first character, at most 4 bytes; *shown is their number. Returns how many bytes it
 * replaces. */
static size_t show_character(const char *bytes, size_t count, char *to, size_t *shown)
{
	uint32_t code;
	unsigned int length = utf8_decode(bytes, count, &code);

	if (!length || !utf8_is_seen(code) || is_like_ours(bytes, count)) {
		unsigned char byte = (unsigned char)*bytes;

		to[0] = '\\';
		for (int digit = 0; digit < 3; digit++)
			to[1 + digit] = (char)('0' + (byte >> (6 - 3 * digit) & 7));
		*shown = 4;
		return 1;
	}
	memcpy(to, bytes, length);
	*shown = length;
	return length;
}

char *utf8_printable(const char *text)
{
	size_t count = strlen(text), shown;
	char *printable = malloc(4 * count + 1), *to = printable;

	if (!printable)
		return NULL;
	for (size_t at = 0; at < count; to += shown)
		at += show_character(text + at, count - at, to, &shown);
	*to = '\0';
	return printable;
}

/* Allocates no memory, since it prints messages about lack of memory. */
void utf8_print(const char *text, FILE *stream)
{
	size_t count = strlen(text), shown;
	char character[4];

	for (size_t at = 0; at < count;) {
		at += show_character(text + at, count - at, character, &shown);
		fwrite(character, 1, shown, stream);
	}
}
