/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/data_claims.h"

#include <errno.h>

#include "ext2fs/ext2mb_err.h"
#include "support/run/condition.h"

errcode_t data_claims_init(struct data_claims *claims)
{
	*claims = (struct data_claims){ .has_ended = PTHREAD_COND_INITIALIZER };
	return pthread_mutex_init(&claims->mutex, NULL) ? ENOMEM : 0;
}

void data_claims_destroy(struct data_claims *claims)
{
	block_ranges_clear(&claims->claimed);
	pthread_mutex_destroy(&claims->mutex);
}

/* Needs the mutex. The list has one write for each thread that is writing. */
static bool overlap(const struct data_claims *claims, uint64_t start, uint64_t count)
{
	for (const struct data_write *write = claims->writes; write; write = write->next)
		if (write->start < start + count && start < write->start + write->count)
			return true;
	return block_ranges_overlap(&claims->claimed, start, count);
}

bool data_claims_overlap(struct data_claims *claims, uint64_t start, uint64_t count)
{
	pthread_mutex_lock(&claims->mutex);
	bool is_claimed = overlap(claims, start, count);
	pthread_mutex_unlock(&claims->mutex);
	return is_claimed;
}

/* Needs the mutex. */
static void note(struct data_claims *claims, uint64_t count)
{
	claims->blocks += count;
	claims->has_unflushed = true;
}

errcode_t data_claims_begin_write(struct data_claims *claims, struct data_write *write)
{
	pthread_mutex_lock(&claims->mutex);
	bool is_claimed = overlap(claims, write->start, write->count);

	if (!is_claimed) {
		write->next = claims->writes;
		claims->writes = write;
		note(claims, write->count);
	}
	pthread_mutex_unlock(&claims->mutex);
	return is_claimed ? EXT2MB_ET_CLAIMED : 0;
}

void data_claims_end_write(struct data_claims *claims, struct data_write *write, errcode_t error)
{
	pthread_mutex_lock(&claims->mutex);
	struct data_write **link = &claims->writes;

	while (*link != write)
		link = &(*link)->next;
	*link = write->next;
	if (!claims->error)
		claims->error = error;
	condition_wake(&claims->has_ended);
	pthread_mutex_unlock(&claims->mutex);
}

errcode_t data_claims_add(struct data_claims *claims, uint64_t start, uint64_t count)
{
	pthread_mutex_lock(&claims->mutex);
	errcode_t error =
		overlap(claims, start, count) ? EXT2MB_ET_CLAIMED : block_ranges_add(&claims->claimed, start, count);

	if (!error)
		note(claims, count);
	pthread_mutex_unlock(&claims->mutex);
	return error;
}

errcode_t data_claims_release(struct data_claims *claims, uint64_t start, uint64_t count, errcode_t write_error)
{
	pthread_mutex_lock(&claims->mutex);
	const struct block_ranges *claimed = &claims->claimed;
	size_t index = block_ranges_at(claimed, start);
	/* Runs do not touch, so a claimed range lies in one run. */
	bool is_claimed = index < claimed->count && claimed->runs[index].start <= start &&
	                  count <= claimed->runs[index].start + claimed->runs[index].count - start;
	errcode_t error = is_claimed ? block_ranges_remove(&claims->claimed, start, count) : EXT2MB_ET_BAD_RANGE;

	if (!error && !claims->error)
		claims->error = write_error;
	pthread_mutex_unlock(&claims->mutex);
	return error;
}

bool data_claims_are_open(struct data_claims *claims)
{
	pthread_mutex_lock(&claims->mutex);
	bool are_open = claims->claimed.count;
	pthread_mutex_unlock(&claims->mutex);
	return are_open;
}

uint64_t data_claims_blocks(struct data_claims *claims)
{
	pthread_mutex_lock(&claims->mutex);
	uint64_t blocks = claims->blocks;
	pthread_mutex_unlock(&claims->mutex);
	return blocks;
}

errcode_t data_claims_settle(struct data_claims *claims, bool *has_unflushed)
{
	pthread_mutex_lock(&claims->mutex);
	while (claims->writes)
		condition_wait(&claims->has_ended, &claims->mutex);
	*has_unflushed |= claims->has_unflushed;
	claims->has_unflushed = false;
	errcode_t error = claims->error;
	pthread_mutex_unlock(&claims->mutex);
	return error;
}

void data_claims_wait(struct data_claims *claims)
{
	pthread_mutex_lock(&claims->mutex);
	while (claims->writes)
		condition_wait(&claims->has_ended, &claims->mutex);
	pthread_mutex_unlock(&claims->mutex);
}
