/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The signals that ask a program to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU) as a flag that long work looks at,
 * so that it can clean up after itself.
 */
#ifndef SUPPORT_INTERRUPT_H
#define SUPPORT_INTERRUPT_H

#include <stdbool.h>

/*
 * Installs the handlers (main program, once). A signal that is ignored stays ignored (nohup). SIGPIPE and SIGXFSZ are
 * ignored from now on: the write that would raise them fails, and its failure is handled like any other.
 */
void interrupt_install(void);

/* True once one of them has arrived. Any thread, lock-free. */
bool interrupt_pending(void);

/* The number of the signal that arrived, 0 if none. */
int interrupt_signal(void);

#endif
