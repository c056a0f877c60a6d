/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Are these bytes all zeros? Of most that are not, one look says so. */
static inline bool bytes_are_zero(const void *bytes, size_t count)
{
	const char *first = bytes;
	uint64_t word = 0;

	if (count >= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		if (word)
			return false;
	}
	/* A block equals itself shifted by a byte, and begins with zero: memcmp() runs at memory speed. */
	return !count || (first[0] == 0 && memcmp(first, first + 1, count - 1) == 0);
}
