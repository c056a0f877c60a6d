/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* UTF-8 (RFC 3629), as far as names of files have to be told from other bytes. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Bytes of the character at `bytes`, of which count are there: 1 to 4; 0 if they are not UTF-8 (too long for what they
 * say, surrogates and what is beyond U+10FFFF included) or none are there. *code: its number, if they are.
 */
unsigned int utf8_decode(const char *bytes, size_t count, uint32_t *code);

/*
 * False for control characters (U+0080 to U+009F, too) and for those that change the direction of writing or end a
 * line: what follows them would be shown in another way.
 */
bool utf8_is_seen(uint32_t code);

/*
 * For a terminal: what is not seen and bytes that are not UTF-8 become \ooo, so that no name moves the cursor and each
 * stays one line; so does a backslash before three octal digits, so that every \ooo is one byte. Returns a
 * string that the caller frees, NULL when out of memory.
 */
char *utf8_printable(const char *text);

/* Prints text in that form. */
void utf8_print(const char *text, FILE *stream);
