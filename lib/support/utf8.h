/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* UTF-8 (RFC 3629), as far as needed for showing file names. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Returns the length of the character at `bytes`, of which count are available: 1 to 4; 0 if it is not UTF-8
 * (overlong forms, surrogates and codes above U+10FFFF included) or count is 0. *code is its number.
 */
unsigned int utf8_decode(const char *bytes, size_t count, uint32_t *code);

/*
 * False for control characters (U+0080 to U+009F, too) and for those that change the direction of writing or end a
 * line: these change how following text is shown.
 */
bool utf8_is_seen(uint32_t code);

/*
 * Makes text safe for a terminal: invisible characters and bytes that are not UTF-8 become \ooo, so that no name
 * moves the cursor and each stays one line. A backslash before three octal digits does, too, so that every \ooo is
 * one byte. Returns a string that the caller frees, NULL when out of memory.
 */
char *utf8_printable(const char *text);

/* Prints text in that form. */
void utf8_print(const char *text, FILE *stream);
