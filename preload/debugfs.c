// SPDX-License-Identifier: GPL-2.0-or-later
/* Of debugfs, a step is a command: what libss runs a line for, be it from -R, from a file or from a terminal. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "preload/handles.h"
#include "preload/interposed.h"
#include "preload/program.h"
#include "preload/steps.h"
#include "support/run/interrupt.h"

/*
 * What interrupts a command makes libss leave it with a jump: half of the command's changes would be in the transaction,
 * and locks would stay taken. So it waits until the command has ended.
 */
static sigset_t interrupts(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	return set;
}

/*
 * With -f and -R libss does not listen, and an interrupt ends debugfs. Then a thread waits for it, so that the commands up
 * to that moment are committed first.
 */
static void *wait_for_interrupt(void *unused)
{
	const sigset_t interrupting = interrupts();
	int number;

	if (sigwait(&interrupting, &number))
		return unused;
	steps_commit_for_good();
	pthread_sigmask(SIG_UNBLOCK, &interrupting, NULL);
	raise(number);
	return unused;
}

/* From here on only that thread has it. Where there is none, it ends debugfs between two commands. */
static void leave_interrupts_to_thread(void)
{
	struct sigaction action;
	const sigset_t interrupting = interrupts();
	pthread_t thread;

	if (sigaction(SIGINT, NULL, &action) || action.sa_handler != SIG_DFL)
		return;
	pthread_sigmask(SIG_BLOCK, &interrupting, NULL);
	if (thread_start(&thread, wait_for_interrupt, NULL) == 0)
		pthread_detach(thread);
	else
		pthread_sigmask(SIG_UNBLOCK, &interrupting, NULL);
}

/* The pager has its own use for them. */
static void unblock_interrupts(void)
{
	const sigset_t interrupting = interrupts();

	pthread_sigmask(SIG_UNBLOCK, &interrupting, NULL);
}

/* Somebody waits for the answer. */
static bool is_at_terminal(void)
{
	return isatty(STDIN_FILENO);
}

static void prepare_interrupts(void)
{
	pthread_atfork(NULL, NULL, unblock_interrupts);
	leave_interrupts_to_thread();
}

int ss_execute_line(int invocation, char *line)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	bool has_steps = program.journal && program.kind == PROGRAM_DEBUGFS;

	if (!has_steps)
		return NEXT(ss_execute_line)(invocation, line);
	const sigset_t interrupting = interrupts();
	sigset_t before;

	pthread_once(&once, prepare_interrupts);
	pthread_sigmask(SIG_BLOCK, &interrupting, &before);
	/* Commands that come through a pipe may take their time. */
	steps_start_clock();
	step_enter();
	int result = NEXT(ss_execute_line)(invocation, line);

	/* It has been said, and the next write fails. */
	(void)!step_leave(is_at_terminal());
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}
