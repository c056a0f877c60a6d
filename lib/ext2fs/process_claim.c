/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/process_claim.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

struct claim_page {
	_Atomic uint32_t holder; /* a process's number; 0: neither process has written since fork() */
	_Atomic uint32_t processes;
};

static struct {
	pthread_mutex_t lock;
	struct process_claim *first;
} claims = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- fork() ------------------------------------------------------------------------------------------------------ */

static void before_fork(void)
{
	pthread_mutex_lock(&claims.lock);
	for (struct process_claim *claim = claims.first; claim; claim = claim->next) {
		uint32_t process = claim->process;

		atomic_compare_exchange_strong(&claim->page->holder, &process, 0);
	}
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&claims.lock);
}

static void after_fork_in_child(void)
{
	for (struct process_claim *claim = claims.first; claim; claim = claim->next)
		claim->process = atomic_fetch_add(&claim->page->processes, 1) + 1;
	pthread_mutex_unlock(&claims.lock);
}

static int handlers_error;

static void set_handlers(void)
{
	handlers_error = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* --- Claims ------------------------------------------------------------------------------------------------------ */

errcode_t process_claim_open(struct process_claim *claim)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	*claim = (struct process_claim){ .process = 1 };
	pthread_once(&once, set_handlers);
	if (handlers_error)
		return handlers_error;
	void *page = mmap(NULL, sizeof(*claim->page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return ENOMEM;
	claim->page = page;
	atomic_store(&claim->page->holder, 1);
	atomic_store(&claim->page->processes, 1);
	pthread_mutex_lock(&claims.lock);
	claim->next = claims.first;
	claims.first = claim;
	pthread_mutex_unlock(&claims.lock);
	return 0;
}

void process_claim_close(struct process_claim *claim)
{
	if (!claim->page)
		return;
	pthread_mutex_lock(&claims.lock);
	struct process_claim **link = &claims.first;

	while (*link != claim)
		link = &(*link)->next;
	*link = claim->next;
	pthread_mutex_unlock(&claims.lock);
	munmap(claim->page, sizeof(*claim->page));
	claim->page = NULL;
}

bool process_claim_acquire(struct process_claim *claim)
{
	uint32_t holder = atomic_load(&claim->page->holder);

	if (!holder && atomic_compare_exchange_strong(&claim->page->holder, &holder, claim->process))
		return true;
	return holder == claim->process;
}

bool process_claim_has(const struct process_claim *claim)
{
	return atomic_load(&claim->page->holder) == claim->process;
}
