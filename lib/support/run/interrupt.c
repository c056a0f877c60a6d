/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_int arrived;

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler may only touch lock-free atomics");

static void note_signal(int signal)
{
	int none = 0;

	/* The first one is the reason; what follows changes nothing. */
	atomic_compare_exchange_strong_explicit(&arrived, &none, signal, memory_order_relaxed, memory_order_relaxed);
}

static const struct {
	int signal;
	void (*handler)(int signal);
} signals[] = {
	{ SIGINT, note_signal },
	{ SIGTERM, note_signal },
	{ SIGHUP, note_signal },
	{ SIGQUIT, note_signal },
	{ SIGXCPU, note_signal },
	/* What a write can raise: ignored, it fails with EPIPE or EFBIG and is reported like any other failure. */
	{ SIGPIPE, SIG_IGN },
	{ SIGXFSZ, SIG_IGN },
};

#define SIGNALS (sizeof(signals) / sizeof(*signals))

static struct sigaction before[SIGNALS];
static bool is_installed;

void interrupt_install(void)
{
	/* System calls are restarted: workers look at the flag between them, and none gets a stray EINTR. */
	struct sigaction action = { .sa_flags = SA_RESTART };

	if (is_installed)
		return;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < SIGNALS; i++) {
		action.sa_handler = signals[i].handler;
		sigaction(signals[i].signal, NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(signals[i].signal, &action, NULL);
	}
	is_installed = true;
}

void interrupt_uninstall(void)
{
	for (size_t i = 0; is_installed && i < SIGNALS; i++)
		sigaction(signals[i].signal, &before[i], NULL);
	is_installed = false;
}

int thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int error = pthread_create(thread, NULL, run, argument);

	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return error;
}

int interrupt_pending(void)
{
	return atomic_load_explicit(&arrived, memory_order_relaxed);
}

void interrupt_explain(const char *path, struct problem *problem)
{
	if (!interrupt_pending())
		return;
	problem_clear(problem);
	problem_set_reason(problem, EINTR, path, NULL, "interrupted");
}

void interrupt_die(void)
{
	int signal = interrupt_pending();

	if (!signal)
		return;
	interrupt_uninstall();
	raise(signal);
}
