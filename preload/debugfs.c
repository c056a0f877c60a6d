// SPDX-License-Identifier: GPL-2.0-or-later
/* Of debugfs, a step is a command: what libss runs a line for, be it from -R, from a file or from a terminal. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "preload/handles.h"
#include "preload/interposed.h"
#include "preload/program.h"
#include "preload/steps.h"

/*
 * What interrupts a command makes libss leave it with a jump: half of the command's changes would be in the transaction,
 * and locks would stay taken. So it waits until the command has ended.
 */
static const sigset_t *interrupts(void)
{
	static sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	return &set;
}

/* The pager has its own use for them. */
static void unblock_interrupts(void)
{
	pthread_sigmask(SIG_UNBLOCK, interrupts(), NULL);
}

static bool children_are_interrupted;

/* Somebody waits for the answer. */
static bool is_at_terminal(void)
{
	return isatty(STDIN_FILENO);
}

int ss_execute_line(int invocation, char *line)
{
	bool has_steps = program.journal && program.kind == PROGRAM_DEBUGFS;

	if (!has_steps)
		return NEXT(ss_execute_line)(invocation, line);
	sigset_t before;

	if (!__atomic_exchange_n(&children_are_interrupted, true, __ATOMIC_RELAXED))
		pthread_atfork(NULL, NULL, unblock_interrupts);
	pthread_sigmask(SIG_BLOCK, interrupts(), &before);
	/* Whoever sends the commands through a pipe may take their time. */
	steps_start_clock();
	step_enter();
	int result = NEXT(ss_execute_line)(invocation, line);

	/* It has been said, and the next write fails. */
	(void)!step_leave(is_at_terminal());
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}
