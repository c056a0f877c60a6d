/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The signals that ask a program to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU) as a flag that long work looks at,
 * so that it can clean up after itself. Then the program dies by that signal after all: a shell ends a loop only if the
 * command that it interrupted died of the interrupt. A second signal, 100 ms later or more, ends the program at once,
 * whatever it is doing.
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
 * A file that the second signal removes, since nobody else will; path must last until it is kept. (A fifth one at a
 * time would stay.) Any thread.
 */
void interrupt_removes(const char *path);
void interrupt_keeps(const char *path);

/* The number of the first of them that has arrived, 0 if none. Any thread, lock-free. */
int interrupt_pending(void);

/* Gives all these signals the action that they had before interrupt_install(). Main thread only. */
void interrupt_uninstall(void);

/* If one has arrived, it is the problem, "PATH: interrupted", whatever failed because of it. */
void interrupt_explain(const char *path, struct problem *problem);

/* pthread_create(3) of a thread that blocks all signals: they reach the main one. Its errors. */
MUST_CHECK int thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument);

/* Dies by the signal that arrived, when all is cleaned up; returns if there was none. Main thread only. */
void interrupt_die(void);
