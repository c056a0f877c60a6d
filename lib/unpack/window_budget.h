/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The windows of zstd, of all threads together. A frame may ask for 128 MiB, and a layer of 13 KiB has one: sixteen
 * layers that were read side by side took 2 GiB. Frames whose windows find no room wait until others have ended.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

/* What the specification wants every decoder to have, and what compressors use unless they are asked for more. */
#define WINDOW_USUAL_LOG 23

/* Two of the largest that zstd(1) unpacks without being asked for more memory. */
#define WINDOW_BUDGET_BYTES (UINT64_C(256) << 20)

struct window_budget {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t used_bytes;
};

#define WINDOW_BUDGET_INITIALIZER                                                                                      \
	{                                                                                                              \
		.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                                 \
	}

/*
 * Waits until there is room for a window of so many bytes beside those that others have; one alone always has room. The
 * caller has none then, and what it makes of the frame must not wait for any other frame. EINTR after a signal;
 * ECANCELED once *is_stopped.
 */
MUST_CHECK errcode_t window_budget_reserve(struct window_budget *budget, uint64_t bytes, const atomic_bool *is_stopped);
void window_budget_give_back(struct window_budget *budget, uint64_t bytes);
