/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shows others that a process goes on which has locked a file: a thread sets the time at which the file was accessed
 * every few seconds. Unpacking writes nothing to a pack for a long time, and a thread of a process that is stopped is
 * stopped, too.
 */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

struct heartbeat {
	int descriptor;
	bool is_running;
	pthread_t thread;
	sem_t ending;
};

/* Begins, with the first beat. The descriptor is borrowed until it stops. Without a thread there are no further ones.
 */
void heartbeat_start(struct heartbeat *heartbeat, int descriptor);
void heartbeat_stop(struct heartbeat *heartbeat);
