/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

/* The most files that are unfinished at once: the image, and one in which its size is tried. */
#define UNFINISHED 4

/* timeout(1) sends its signal twice, to the program and to its process group: within this time both count as one. */
#define ONE_SIGNAL_MILLISECONDS 100U

static atomic_int arrived;
static atomic_uint arrived_at; /* milliseconds, which may wrap */
static _Atomic(const char *) unfinished[UNFINISHED];

_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_POINTER_LOCK_FREE == 2,
               "a signal handler may only touch lock-free atomics");

static unsigned int milliseconds(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned int)now.tv_sec * 1000U + (unsigned int)(now.tv_nsec / 1000000);
}

/*
 * After the first signal the main program cleans up. A second one means that this takes too long: foreign code may
 * never check the flag (libarchive in a loop).
 */
static void note_signal(int signal)
{
	const int saved = errno;
	int none = 0;

	if (!atomic_load(&arrived))
		atomic_store(&arrived_at, milliseconds());
	bool is_first = atomic_compare_exchange_strong(&arrived, &none, signal);
	bool is_same = !is_first && milliseconds() - atomic_load(&arrived_at) < ONE_SIGNAL_MILLISECONDS;

	errno = saved;
	if (is_first || is_same)
		return;
	for (size_t i = 0; i < UNFINISHED; i++) {
		const char *path = atomic_load(&unfinished[i]);

		if (path)
			unlink(path);
	}
	/* The signal is delivered when this function returns. */
	sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	raise(signal);
}

void interrupt_removes(const char *path)
{
	const char *none = NULL;

	for (size_t i = 0; i < UNFINISHED; i++, none = NULL)
		if (atomic_compare_exchange_strong(&unfinished[i], &none, path))
			return;
}

void interrupt_keeps(const char *path)
{
	for (size_t i = 0; i < UNFINISHED; i++) {
		const char *same = path;

		if (path && atomic_compare_exchange_strong(&unfinished[i], &same, NULL))
			return;
	}
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
	/* Signals of a write: if they are ignored, it fails with EPIPE or EFBIG and is reported like any other
	 * failure. */
	{ SIGPIPE, SIG_IGN },
	{ SIGXFSZ, SIG_IGN },
};

#define SIGNALS (sizeof(signals) / sizeof(*signals))

static struct sigaction before[SIGNALS];
static bool is_installed;

void interrupt_install(void)
{
	/* System calls are restarted: workers check the flag between them, and none gets an EINTR. */
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
