/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The exit status of children. A program that ignores SIGCHLD leaves that to those that it starts, us too, and then the
 * kernel drops the status of each child.
 */
#pragma once

#include <sys/wait.h>

#include "support/problem.h"

/*
 * Called before a child is started: from the first of them on SIGCHLD has its default action where it was ignored. Any
 * thread. A child of the program's own that ends meanwhile waits for the program, as it does without SIG_IGN.
 */
void children_expect(void);

/* fork(2) with children_expect() before it; none is expected if it fails. */
pid_t children_fork(void);

/*
 * Called once for each children_expect(). Waits for the child, whatever signals arrive, and has *status as waitpid(2)
 * fills it in; child below 0: none was started. After the last one SIGCHLD is ignored again. Errors of waitpid(2):
 * ECHILD if the program itself has waited for it.
 */
MUST_CHECK errcode_t children_wait(pid_t child, int *status);
