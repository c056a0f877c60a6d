/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/pack/heartbeat.h"

#include <errno.h>
#include <sys/stat.h>

#include "support/run/interrupt.h"
#include "support/seconds.h"

#define BEAT_SECONDS 5

/* Its mtime stays: that of a pack that is whole says that nobody has written to it. */
static void beat(int descriptor)
{
	(void)!futimens(descriptor, (const struct timespec[]){ { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_OMIT } });
}

static void *beating_main(void *argument)
{
	struct heartbeat *heartbeat = argument;

	for (;;) {
		const struct timespec next = seconds_timespec(seconds_of(CLOCK_MONOTONIC) + BEAT_SECONDS);

		int error;

		do
			error = sem_clockwait(&heartbeat->ending, CLOCK_MONOTONIC, &next) ? errno : 0;
		while (error == EINTR);
		if (!error)
			return NULL;
		beat(heartbeat->descriptor);
	}
}

void heartbeat_start(struct heartbeat *heartbeat, int descriptor)
{
	heartbeat->descriptor = descriptor;
	beat(descriptor);
	sem_init(&heartbeat->ending, 0, 0);
	heartbeat->is_running = !thread_start(&heartbeat->thread, beating_main, heartbeat);
}

void heartbeat_stop(struct heartbeat *heartbeat)
{
	if (heartbeat->is_running) {
		sem_post(&heartbeat->ending);
		pthread_join(heartbeat->thread, NULL);
	}
	sem_destroy(&heartbeat->ending);
}
