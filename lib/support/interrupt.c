/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int arrived;

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler may only touch lock-free atomics");

static void note_signal(int signal)
{
	int none = 0;

	/* The first one is the reason; what follows changes nothing. */
	atomic_compare_exchange_strong_explicit(&arrived, &none, signal, memory_order_relaxed, memory_order_relaxed);
}

/* What a write can raise: ignored, it fails with EPIPE or EFBIG and is reported like any other failure. */
static void ignore_signals_of_writes(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

void interrupt_install(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU };
	/* System calls go on: whoever works looks at the flag between them, and none sees a stray EINTR. */
	struct sigaction action = { .sa_handler = note_signal, .sa_flags = SA_RESTART };

	ignore_signals_of_writes();
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction old;

		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

bool interrupt_pending(void)
{
	return atomic_load_explicit(&arrived, memory_order_relaxed) != 0;
}

int interrupt_signal(void)
{
	return atomic_load_explicit(&arrived, memory_order_relaxed);
}
