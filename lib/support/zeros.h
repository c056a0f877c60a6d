/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Are these bytes all zeros? For most that are not, the first eight bytes decide. */
static inline bool bytes_are_zero(const void *bytes, size_t count)
{
	const char *first = bytes;
	uint64_t word = 0;

	if (count >= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		if (word)
			return false;
	}
	/* Zeros equal themselves shifted by a byte, and begin with zero: memcmp() runs at memory speed. */
	return !count || (first[0] == 0 && memcmp(first, first + 1, count - 1) == 0);
}
