/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/children.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "support/scope_lock.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int expected; /* children that are not waited for yet */
static bool is_replaced;      /* the program's action, which is: */
static struct sigaction programs_own;

static bool drops_status(const struct sigaction *action)
{
	return action->sa_handler == SIG_IGN || action->sa_flags & SA_NOCLDWAIT;
}

void children_expect(void)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };

	SCOPE_LOCK(&lock);
	if (!expected++ && sigaction(SIGCHLD, NULL, &programs_own) == 0 && drops_status(&programs_own))
		is_replaced = sigaction(SIGCHLD, &usual, NULL) == 0;
}

pid_t children_fork(void)
{
	int status;

	children_expect();
	pid_t child = fork();
	int error = errno;

	if (child < 0 && children_wait(-1, &status) == 0)
		errno = error;
	return child;
}

errcode_t children_wait(pid_t child, int *status)
{
	errcode_t error = 0;

	while (!error && child >= 0 && waitpid(child, status, 0) < 0)
		if (errno != EINTR)
			error = errno;
	SCOPE_LOCK(&lock);
	if (!--expected && is_replaced) {
		sigaction(SIGCHLD, &programs_own, NULL);
		is_replaced = false;
	}
	return error;
}
