/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* UTF-8 (RFC 3629), as far as names of files have to be told from other bytes. Any thread. */
#ifndef SUPPORT_UTF8_H
#define SUPPORT_UTF8_H

#include <stddef.h>

/*
 * Bytes of the character at `bytes`, of which count are there: 1 to 4; 0 if they are not UTF-8 (too long for what they
 * say, surrogates and what is beyond U+10FFFF included) or none are there.
 */
unsigned int utf8_length(const char *bytes, size_t count);

/*
 * For a terminal: control characters (those of two bytes, U+0080 to U+009F, too), backslashes and bytes that are not
 * UTF-8 become \ooo, so that no name moves the cursor and each stays one line. Returns a string that the caller frees,
 * NULL when out of memory.
 */
char *utf8_printable(const char *bytes, size_t count);

#endif
