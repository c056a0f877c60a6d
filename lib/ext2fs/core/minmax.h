/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

static inline uint64_t min_u64(uint64_t first, uint64_t second)
{
	return first < second ? first : second;
}

static inline uint64_t max_u64(uint64_t first, uint64_t second)
{
	return first > second ? first : second;
}
