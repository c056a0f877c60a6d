/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The number that these bytes are, at most 8, the lowest one first, as formats of files have it wherever it lies. */
static inline uint64_t little_endian(const uint8_t *bytes, size_t count)
{
	uint64_t number = 0;

	while (count--)
		number = number << 8 | bytes[count];
	return number;
}
