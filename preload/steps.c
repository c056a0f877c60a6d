/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preload/steps.h"

#include "preload/handles.h"
#include "preload/program.h"
#include "support/run/condition.h"
#include "support/run/interrupt.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Protected by the lock. */
static struct {
	bool is_inside;
	bool has_waiting; /* steps that are not committed yet */
	double due;       /* CLOCK_MONOTONIC seconds at which they have waited long enough */
	bool has_clock, is_stopped;
	pthread_t clock;
	pthread_cond_t changed; /* has_waiting or is_stopped */
} state = { .changed = PTHREAD_COND_INITIALIZER };

static bool is_due(void)
{
	return seconds_of(CLOCK_MONOTONIC) >= state.due;
}

static errcode_t commit(void)
{
	state.has_waiting = false;
	return handles_commit();
}

static void enter(bool is_alone)
{
	pthread_mutex_lock(&lock);
	/* A failure has been reported, and the step's writes are refused. */
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
		state.due = seconds_of(CLOCK_MONOTONIC) + COMMIT_SECONDS;
		state.has_waiting = true;
		condition_wake(&state.changed);
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
	/* A failure has been reported. */
	(void)!commit();
}

static void *run_clock(void *unused)
{
	pthread_mutex_lock(&lock);
	while (!state.is_stopped) {
		if (!state.has_waiting)
			condition_wait(&state.changed, &lock);
		else if (!is_due())
			condition_wait_until(&state.changed, &lock, state.due);
		else
			/* A failure has been reported. A refused step may be undone, and others follow. */
			(void)!commit();
	}
	pthread_mutex_unlock(&lock);
	return unused;
}

void steps_start_clock(void)
{
	if (state.has_clock)
		return;
	/* Signals stay with the program's own threads: libss's handler jumps, and libfuse's interrupts the read in
	 * which it waits. */
	state.has_clock = thread_start(&state.clock, run_clock, NULL) == 0;
	if (!state.has_clock)
		say("no thread can be started: the last operation is committed only with the next one");
}

void steps_stop_clock(void)
{
	if (!state.has_clock)
		return;
	pthread_mutex_lock(&lock);
	state.is_stopped = true;
	condition_wake(&state.changed);
	pthread_mutex_unlock(&lock);
	pthread_join(state.clock, NULL);
	state.has_clock = false;
}
