/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unpack/window_budget.h"

#include <errno.h>

#include "support/run/condition.h"
#include "support/run/interrupt.h"

errcode_t window_budget_reserve(struct window_budget *budget, uint64_t bytes, const atomic_bool *is_stopped)
{
	errcode_t error = 0;

	pthread_mutex_lock(&budget->lock);
	while (!error && budget->used_bytes && budget->used_bytes + bytes > WINDOW_BUDGET_BYTES) {
		condition_wait_or_look(&budget->changed, &budget->lock);
		if (interrupt_pending())
			error = EINTR;
		else if (atomic_load_explicit(is_stopped, memory_order_relaxed))
			error = ECANCELED;
	}
	budget->used_bytes += error ? 0 : bytes;
	pthread_mutex_unlock(&budget->lock);
	return error;
}

void window_budget_give_back(struct window_budget *budget, uint64_t bytes)
{
	pthread_mutex_lock(&budget->lock);
	budget->used_bytes -= bytes;
	condition_wake(&budget->changed);
	pthread_mutex_unlock(&budget->lock);
}
