/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorded_disk.h"

#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cleanup.h"
#include "support/vector.h"

struct recorded_disk recorded_disk;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* With the mutex. */
static void record(enum disk_event_kind kind, uint64_t offset, const void *data, uint64_t bytes)
{
	struct disk_event event = { kind, offset, bytes, bytes ? malloc(bytes) : NULL };

	if (vector_reserve(&recorded_disk.events, &recorded_disk.capacity, recorded_disk.count + 1, sizeof(event)) ||
	    (bytes && !event.data))
		errx(2, "out of memory");
	if (bytes)
		memcpy(event.data, data, bytes);
	recorded_disk.events[recorded_disk.count++] = event;
}

void recorded_disk_committed(void)
{
	pthread_mutex_lock(&mutex);
	record(DISK_COMMITTED, 0, NULL, 0);
	pthread_mutex_unlock(&mutex);
}

static io_channel below(io_channel channel)
{
	return channel->private_data;
}

static errcode_t disk_open(const char *name, int flags, io_channel *ret)
{
	io_channel channel = calloc(1, sizeof(*channel)), file;
	errcode_t error = unix_io_manager->open(name, flags, &file);

	if (error || !channel) {
		free(channel);
		return error ? error : EXT2_ET_NO_MEMORY;
	}
	*channel = *file;
	channel->manager = recorded_disk_manager;
	channel->private_data = file;
	channel->name = strdup(name);
	*ret = channel;
	return channel->name ? 0 : EXT2_ET_NO_MEMORY;
}

static errcode_t disk_close(io_channel channel)
{
	if (--channel->refcount > 0)
		return 0;
	errcode_t error = io_channel_close(below(channel));

	free(channel->name);
	free(channel);
	return error;
}

static errcode_t disk_set_block_size(io_channel channel, int block_size)
{
	channel->block_size = block_size;
	return io_channel_set_blksize(below(channel), block_size);
}

static errcode_t disk_read(io_channel channel, unsigned long long block, int count, void *data)
{
	return io_channel_read_blk64(below(channel), block, count, data);
}

static errcode_t disk_read_old(io_channel channel, unsigned long block, int count, void *data)
{
	return disk_read(channel, block, count, data);
}

#define CHECKSUM_OFFSET 252

static errcode_t disk_write(io_channel channel, unsigned long long block, int count, const void *data)
{
	uint64_t offset = block * (uint64_t)channel->block_size;
	uint64_t bytes = count < 0 ? (uint64_t)-count : (uint64_t)count * (uint64_t)channel->block_size;
	uint8_t *copy = malloc(bytes), old[1024];
	errcode_t error = copy ? 0 : EXT2_ET_NO_MEMORY;

	if (!error)
		memcpy(copy, data, bytes);
	if (!error && recorded_disk.fault == DISK_STALE_CHECKSUM && offset == recorded_disk.journal_super_offset) {
		error = io_channel_read_blk64(below(channel), block, -1024, old);
		if (!error)
			memcpy(copy + CHECKSUM_OFFSET, old + CHECKSUM_OFFSET, 4);
	}
	if (!error) {
		pthread_mutex_lock(&mutex);
		record(DISK_WRITE, offset, copy, bytes);
		pthread_mutex_unlock(&mutex);
		error = io_channel_write_blk64(below(channel), block, count, copy);
	}
	free(copy);
	return error;
}

static errcode_t disk_write_old(io_channel channel, unsigned long block, int count, const void *data)
{
	return disk_write(channel, block, count, data);
}

/* Afterwards there may be anything. */
static errcode_t disk_discard(io_channel channel, unsigned long long block, unsigned long long count)
{
	size_t bytes = count * (size_t)channel->block_size;
	uint8_t *anything = malloc(bytes);

	if (!anything)
		return EXT2_ET_NO_MEMORY;
	memset(anything, 0xa5, bytes);
	errcode_t error = disk_write(channel, block, (int)count, anything);

	free(anything);
	return error;
}

static errcode_t disk_flush(io_channel channel)
{
	(void)channel;
	pthread_mutex_lock(&mutex);
	if (recorded_disk.fault != DISK_WITHOUT_FLUSH)
		record(DISK_FLUSH, 0, NULL, 0);
	pthread_mutex_unlock(&mutex);
	return 0;
}

static errcode_t disk_set_option(io_channel channel, const char *option, const char *value)
{
	return unix_io_manager->set_option(below(channel), option, value);
}

static struct struct_io_manager functions = {
	.magic = EXT2_ET_MAGIC_IO_MANAGER,
	.name = "recorded disk",
	.open = disk_open,
	.close = disk_close,
	.set_blksize = disk_set_block_size,
	.read_blk = disk_read_old,
	.write_blk = disk_write_old,
	.flush = disk_flush,
	.set_option = disk_set_option,
	.read_blk64 = disk_read,
	.write_blk64 = disk_write,
	.discard = disk_discard,
};
io_manager recorded_disk_manager = &functions;

uint8_t *recorded_disk_read(const char *path, uint64_t *bytes)
{
	SCOPE_FCLOSE FILE *file = fopen(path, "r");

	if (!file || fseek(file, 0, SEEK_END))
		err(2, "%s", path);
	*bytes = (uint64_t)ftell(file);
	uint8_t *data = malloc(*bytes);

	rewind(file);
	if (!data || fread(data, 1, *bytes, file) != *bytes)
		err(2, "%s", path);
	return data;
}
