/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The signals that ask a program to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU) set a flag that long work checks,
 * so that it can clean up. Then the program kills itself by that signal: a shell ends a loop only if the interrupted
 * command died of the signal. A second signal, 100 ms later or more, ends the program at once.
 */
#pragma once

#include <pthread.h>

#include "support/problem.h"

/*
 * Installs the handlers (main program). A signal that is ignored stays ignored (nohup). SIGPIPE and SIGXFSZ are
 * ignored from now on: the write that would raise them fails, and its failure is handled like any other.
 */
void interrupt_install(void);

/*
 * Registers a file that the second signal removes, since no clean-up runs then; path must stay valid until it is
 * kept. (A fifth file at a time would not be removed.) Any thread.
 */
void interrupt_removes(const char *path);
void interrupt_keeps(const char *path);

/* The number of the first signal that has arrived, 0 if none. Any thread, lock-free. */
int interrupt_pending(void);

/* Gives all these signals the action that they had before interrupt_install(). Main thread only. */
void interrupt_uninstall(void);

/* If a signal has arrived, replaces the problem by "PATH: interrupted". */
void interrupt_explain(const char *path, struct problem *problem);

/* pthread_create(3) for a thread that blocks all signals, so that the main thread gets them. Errors of
 * pthread_create(3). */
MUST_CHECK int thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument);

/* Kills the program by the signal that arrived, after it has cleaned up; returns if there was none. Main thread only.
 */
void interrupt_die(void);
