/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another input of lines or JSON (LLVMFuzzerCustomMutator() in fuzz.h): lines move, values get another type. */
#pragma once

#include <stddef.h>
#include <stdint.h>

size_t mutate_text(uint8_t *bytes, size_t count, size_t most, unsigned int seed);

/* xorshift: a number below `below`, which is not 0; the same for the same state. */
static inline uint32_t next_number(uint32_t *state, uint32_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state % below;
}
