/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Searching what is sorted. */
#pragma once

#include <stddef.h>

/*
 * The lowest of the indexes below count for which the condition on `index`, a name that it may use, is true; count if
 * there is none. For all indexes above it must be true as well.
 */
#define BISECT(count, index, condition)                                                                                \
	({                                                                                                             \
		size_t low_ = 0, high_ = (count);                                                                      \
		while (low_ < high_) {                                                                                 \
			size_t index = low_ + (high_ - low_) / 2;                                                      \
			if (condition)                                                                                 \
				high_ = index;                                                                         \
			else                                                                                           \
				low_ = index + 1;                                                                      \
		}                                                                                                      \
		low_;                                                                                                  \
	})
