/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preload/steps.h"

#include <pthread.h>
#include <time.h>

#include "preload/handles.h"
#include "preload/program.h"
#include "support/run/interrupt.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* All below the lock. */
static struct {
	bool is_inside;
	bool has_waiting;    /* steps that no commit has had */
	struct timespec due; /* when they have waited long enough */
	bool has_clock, is_stopped;
	pthread_t clock;
	pthread_cond_t wake;
} state;

static struct timespec in_seconds(unsigned int seconds)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_sec += seconds;
	return time;
}

static bool is_due(void)
{
	struct timespec now = in_seconds(0);

	return now.tv_sec > state.due.tv_sec || (now.tv_sec == state.due.tv_sec && now.tv_nsec >= state.due.tv_nsec);
}

static errcode_t commit(void)
{
	state.has_waiting = false;
	return handles_commit();
}

static void enter(bool is_alone)
{
	pthread_mutex_lock(&lock);
	/* If it fails, that has been said, and what the step writes is refused. */
	if (is_alone && state.has_waiting)
		(void)!commit();
	handles_begin();
	state.is_inside = true;
}

void step_enter(void)
{
	enter(false);
}

void step_enter_alone(void)
{
	enter(true);
}

errcode_t step_leave(bool now)
{
	errcode_t error = 0;

	if (!state.has_waiting) {
		state.due = in_seconds(COMMIT_SECONDS);
		state.has_waiting = true;
		if (state.has_clock)
			pthread_cond_signal(&state.wake);
	}
	handles_end();
	state.is_inside = false;
	if (now || is_due())
		error = commit();
	pthread_mutex_unlock(&lock);
	return error;
}

bool step_is_inside(void)
{
	return state.is_inside;
}

void steps_commit_for_good(void)
{
	pthread_mutex_lock(&lock);
	/* If it fails, that has been said. */
	(void)!commit();
}

static void *run_clock(void *unused)
{
	pthread_mutex_lock(&lock);
	while (!state.is_stopped) {
		if (!state.has_waiting)
			pthread_cond_wait(&state.wake, &lock);
		else if (!is_due())
			pthread_cond_timedwait(&state.wake, &lock, &state.due);
		else
			/* If it fails, that has been said. What was refused may be undone, and others follow. */
			(void)!commit();
	}
	pthread_mutex_unlock(&lock);
	return unused;
}

void steps_start_clock(void)
{
	pthread_condattr_t attributes;

	if (state.has_clock)
		return;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&state.wake, &attributes);
	pthread_condattr_destroy(&attributes);
	/* The program's handlers are for its own threads: libss's jumps, libfuse's interrupts the read it waits in. */
	state.has_clock = thread_start(&state.clock, run_clock, NULL) == 0;
	if (!state.has_clock)
		say("no thread can be made: what no other operation follows is committed with the next one only");
}

void steps_stop_clock(void)
{
	if (!state.has_clock)
		return;
	pthread_mutex_lock(&lock);
	state.is_stopped = true;
	pthread_cond_signal(&state.wake);
	pthread_mutex_unlock(&lock);
	pthread_join(state.clock, NULL);
	state.has_clock = false;
}
