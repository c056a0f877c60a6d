/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned int length_by_first(unsigned char byte)
{
	if (byte < 0x80)
		return 1;
	if (byte < 0xc2) /* in the middle of a character, or two bytes for what one can say */
		return 0;
	return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf5 ? 4 : 0;
}

unsigned int utf8_length(const char *bytes, size_t count)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int length = count ? length_by_first((unsigned char)*bytes) : 0;

	if (length <= 1)
		return length;
	if (length > count)
		return 0;
	uint32_t code = (unsigned char)*bytes & (0x7fu >> length);
	for (unsigned int n = 1; n < length; n++) {
		unsigned char byte = (unsigned char)bytes[n];

		if ((byte & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (byte & 0x3f);
	}
	bool is_surrogate = code >= 0xd800 && code < 0xe000;
	return code < smallest[length] || is_surrogate || code > 0x10ffff ? 0 : length;
}

static bool is_control(const unsigned char *bytes, unsigned int length)
{
	return bytes[0] < ' ' || bytes[0] == 0x7f || (length == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0);
}

char *utf8_printable(const char *bytes, size_t count)
{
	char *text = malloc(4 * count + 1), *to = text;

	if (!text)
		return NULL;
	for (size_t at = 0; at < count;) {
		const unsigned char *from = (const unsigned char *)bytes + at;
		unsigned int length = utf8_length(bytes + at, count - at);
		bool is_plain = length && *from != '\\' && !is_control(from, length);

		if (!length)
			length = 1;
		for (unsigned int n = 0; n < length; n++)
			to += sprintf(to, is_plain ? "%c" : "\\%03o", from[n]);
		at += length;
	}
	*to = '\0';
	return text;
}
