/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Binary search. */
#pragma once

#include <stddef.h>

/*
 * Returns the lowest index below count for which the condition, which uses the name `index`, is true; count if there
 * is none. The condition must be true for all higher indexes, too.
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
