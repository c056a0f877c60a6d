/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A mutex that is held until the end of a scope, so that an early return cannot leave it locked. */
#pragma once

#include <pthread.h>

static inline pthread_mutex_t *scope_lock_enter(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	return lock;
}

static inline void scope_lock_leave(pthread_mutex_t *const *lock)
{
	pthread_mutex_unlock(*lock);
}

/* One in a scope: SCOPE_LOCK(&dirty->lock); */
#define SCOPE_LOCK(mutex)                                                                                              \
	pthread_mutex_t *scope_lock __attribute__((cleanup(scope_lock_leave))) = scope_lock_enter(mutex)
