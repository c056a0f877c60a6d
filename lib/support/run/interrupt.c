/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU };
/* What a write can raise: ignored, it fails with EPIPE or EFBIG and is reported like any other failure. */
static const int write_signals[] = { SIGPIPE, SIGXFSZ };

#define ENDING (sizeof(ending_signals) / sizeof(*ending_signals))
#define WRITE (sizeof(write_signals) / sizeof(*write_signals))

static struct sigaction before_ending[ENDING], before_write[WRITE];
static bool is_installed;
static atomic_int arrived;

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler may only touch lock-free atomics");

static void note_signal(int signal)
{
	int none = 0;

	/* The first one is the reason; what follows changes nothing. */
	atomic_compare_exchange_strong_explicit(&arrived, &none, signal, memory_order_relaxed, memory_order_relaxed);
}

void interrupt_install(void)
{
	/* System calls are restarted: workers look at the flag between them, and none gets a stray EINTR. */
	struct sigaction action = { .sa_handler = note_signal, .sa_flags = SA_RESTART };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	if (is_installed)
		return;
	sigemptyset(&action.sa_mask);
	sigemptyset(&ignore.sa_mask);
	for (size_t i = 0; i < WRITE; i++)
		sigaction(write_signals[i], &ignore, &before_write[i]);
	for (size_t i = 0; i < ENDING; i++) {
		sigaction(ending_signals[i], NULL, &before_ending[i]);
		if (before_ending[i].sa_handler != SIG_IGN)
			sigaction(ending_signals[i], &action, NULL);
	}
	is_installed = true;
}

void interrupt_uninstall(void)
{
	if (!is_installed)
		return;
	for (size_t i = 0; i < WRITE; i++)
		sigaction(write_signals[i], &before_write[i], NULL);
	for (size_t i = 0; i < ENDING; i++)
		sigaction(ending_signals[i], &before_ending[i], NULL);
	is_installed = false;
}

bool interrupt_pending(void)
{
	return atomic_load_explicit(&arrived, memory_order_relaxed) != 0;
}

int interrupt_signal(void)
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
	int signal = interrupt_signal();

	if (!signal)
		return;
	interrupt_uninstall();
	raise(signal);
}
