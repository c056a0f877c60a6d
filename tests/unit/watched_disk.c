/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watched_disk.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "mb_image.h"
#include "support/vector.h"
#include "transaction/channel.h"
#include "transaction/freed.h"
#include "unit.h"

#define JOURNAL_MAGIC 0xc03b3998
#define JOURNAL_COMMIT_BLOCK 2

struct event {
	enum watched_kind kind;
	blk64_t start, count;
};

struct watched_disk watched_disk;

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct event *events;
	size_t count, capacity;
	blk64_t gate_start, gate_count;
	unsigned int waiting;
} disk = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static struct struct_io_manager below, above;
static io_manager below_manager = &below;
static struct channel_manager kind;
static unsigned int flags_of_disk;
static atomic_uint users;

static void note(enum watched_kind event_kind, blk64_t start, blk64_t count)
{
	pthread_mutex_lock(&disk.mutex);
	ck_assert_int_eq(vector_reserve(&disk.events, &disk.capacity, disk.count + 1, sizeof(*disk.events)), 0);
	disk.events[disk.count++] = (struct event){ event_kind, start, count };
	pthread_mutex_unlock(&disk.mutex);
}

static void wait_at_gate(blk64_t block)
{
	pthread_mutex_lock(&disk.mutex);
	if (block >= disk.gate_start && block - disk.gate_start < disk.gate_count) {
		disk.waiting++;
		pthread_cond_broadcast(&disk.changed);
		while (disk.gate_count)
			pthread_cond_wait(&disk.changed, &disk.mutex);
	}
	pthread_mutex_unlock(&disk.mutex);
}

static void enter(void)
{
	unsigned int now = atomic_fetch_add(&users, 1) + 1, most = atomic_load(&watched_disk.most_users);

	while (now > most && !atomic_compare_exchange_weak(&watched_disk.most_users, &most, now))
		;
}

static bool is_commit_block(const void *data)
{
	uint32_t words_be[2];

	memcpy(words_be, data, sizeof(words_be));
	return be32toh(words_be[0]) == JOURNAL_MAGIC && be32toh(words_be[1]) == JOURNAL_COMMIT_BLOCK;
}

static errcode_t write_below(io_channel channel, unsigned long long block, int count, const void *data)
{
	blk64_t blocks = count < 0 ? 1 : (blk64_t)count;

	wait_at_gate(block);
	enter();
	errcode_t error = watched_disk.failing_block >= block && watched_disk.failing_block - block < blocks ?
	                          EIO :
	                          unix_io_manager->write_blk64(channel, block, count, data);

	if (!error)
		note(count == 1 && is_commit_block(data) ? WATCHED_COMMIT_BLOCK : WATCHED_WRITE, block, blocks);
	atomic_fetch_sub(&users, 1);
	return error;
}

static errcode_t flush_below(io_channel channel)
{
	note(WATCHED_FLUSH, 0, 0);
	return unix_io_manager->flush(channel);
}

static errcode_t open_below(const char *name, int flags, io_channel *ret)
{
	errcode_t error = unix_io_manager->open(name, flags, ret);

	if (error)
		return error;
	(*ret)->manager = &below;
	if (flags_of_disk & WATCHED_ALONE)
		(*ret)->flags &= ~CHANNEL_FLAGS_THREADS;
	return 0;
}

static errcode_t open_above(const char *name, int flags, io_channel *channel)
{
	return channel_open(name, flags, &kind, channel);
}

ext2_filsys watched_disk_open(uint64_t manager_flags, unsigned int disk_flags)
{
	ext2_filsys fs;

	flags_of_disk = disk_flags;
	initialize_e2mb_error_table();
	below = *unix_io_manager;
	below.open = open_below;
	below.write_blk64 = write_below;
	below.flush = flush_below;
	above = channel_functions(open_above);
	kind = (struct channel_manager){ &above, &below_manager, manager_flags, freed_listen };
	ck_assert_ok(ext2fs_open(mb_image_path(), EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, &above, &fs));
	ck_assert_ok(ext2fs_read_bitmaps(fs));
	return fs;
}

void watched_disk_close_gate(blk64_t start, blk64_t count)
{
	pthread_mutex_lock(&disk.mutex);
	disk.gate_start = start;
	disk.gate_count = count;
	disk.waiting = 0;
	pthread_mutex_unlock(&disk.mutex);
}

void watched_disk_open_gate(void)
{
	pthread_mutex_lock(&disk.mutex);
	disk.gate_count = 0;
	pthread_cond_broadcast(&disk.changed);
	pthread_mutex_unlock(&disk.mutex);
}

void watched_disk_await(unsigned int writes)
{
	struct timespec end;
	int error = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 30;
	pthread_mutex_lock(&disk.mutex);
	while (disk.waiting < writes && !error)
		error = pthread_cond_timedwait(&disk.changed, &disk.mutex, &end);
	unsigned int waiting = disk.waiting;
	pthread_mutex_unlock(&disk.mutex);
	ck_assert_uint_eq(waiting, writes);
}

size_t watched_disk_find(enum watched_kind event_kind, blk64_t block, size_t index)
{
	size_t found = WATCHED_NEVER;

	pthread_mutex_lock(&disk.mutex);
	for (; index < disk.count && found == WATCHED_NEVER; index++) {
		const struct event *event = &disk.events[index];

		if (event->kind == event_kind &&
		    (event_kind != WATCHED_WRITE || (block >= event->start && block - event->start < event->count)))
			found = index;
	}
	pthread_mutex_unlock(&disk.mutex);
	return found;
}
