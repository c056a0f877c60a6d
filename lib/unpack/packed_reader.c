/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unpack/packed_reader.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/poison.h"
#include "support/run/interrupt.h"
#include "unpack/inflate.h"

/* While the writer of a pipe writes nothing, we see a signal at most so much later. */
#define WAIT_MILLISECONDS 100

/* Waits until a pipe has bytes. read() would go on after a signal, and another thread may get the signal. */
static errcode_t wait_for_bytes(const struct packed_file *file)
{
	struct pollfd waiting = { .fd = file->descriptor, .events = POLLIN };

	for (;;) {
		int ready = poll(&waiting, 1, WAIT_MILLISECONDS);

		if (ready > 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return errno;
		if (interrupt_pending())
			return EINTR;
		if (atomic_load_explicit(&file->is_stopped, memory_order_relaxed))
			return ECANCELED;
	}
}

void packed_position_reach(struct packed_position *position, uint64_t at)
{
	if (!position || !position->progress)
		return;
	uint64_t reached = atomic_load_explicit(&position->reached, memory_order_relaxed);

	while (at > reached)
		if (atomic_compare_exchange_weak_explicit(&position->reached, &reached, at, memory_order_relaxed,
		                                          memory_order_relaxed)) {
			progress_add(position->progress, at - reached, 0);
			break;
		}
}

errcode_t packed_file_read(const struct packed_file *file, void *bytes, size_t count, uint64_t at, size_t *got)
{
	ssize_t moved;

	*got = 0;
	if (!file->is_regular && at < file->beginning_bytes) {
		*got = count < file->beginning_bytes - at ? count : (size_t)(file->beginning_bytes - at);
		memcpy(bytes, (const char *)file->beginning + at, *got);
		return 0;
	}
	if (file->read)
		return interrupt_pending() ? EINTR : file->read(file->context, bytes, count, got);
	do {
		if (interrupt_pending())
			return EINTR;
		errcode_t error = file->is_regular ? 0 : wait_for_bytes(file);

		if (error)
			return error;
		if (file->is_bounded && count > (at < file->size_bytes ? file->size_bytes - at : 0))
			count = at < file->size_bytes ? (size_t)(file->size_bytes - at) : 0;
		moved = file->is_regular ? pread(file->descriptor, bytes, count, (off_t)(file->start + at)) :
		                           read(file->descriptor, bytes, count);
	} while (moved < 0 && errno == EINTR);
	if (moved < 0)
		return errno;
	*got = (size_t)moved;
	packed_position_reach(file->position, at + *got);
	return 0;
}

errcode_t packed_reader_open(struct packed_reader *reader, const struct packed_file *file, uint64_t at)
{
	*reader = (struct packed_reader){ .file = file, .next = at };
	reader->buffer = malloc(INFLATE_KEPT_BYTES + PACKED_READER_BYTES);
	if (!reader->buffer)
		return ENOMEM;
	reader->bytes = reader->buffer + INFLATE_KEPT_BYTES;
	return 0;
}

void packed_reader_close(struct packed_reader *reader)
{
	free(TAKE(reader->buffer));
}

/* Moves the bytes at hand to the front. Bytes that have just been used stay before them (inflate.h). */
static void make_room(struct packed_reader *reader)
{
	size_t used = (size_t)(reader->bytes - reader->buffer);
	size_t kept = used < INFLATE_KEPT_BYTES ? used : INFLATE_KEPT_BYTES;
	uint8_t *to = reader->buffer + INFLATE_KEPT_BYTES;

	if (reader->bytes == to)
		return;
	memmove(to - kept, reader->bytes - kept, kept + reader->count);
	reader->bytes = to;
}

errcode_t packed_reader_fill(struct packed_reader *reader, size_t least)
{
	while (reader->count < least && !reader->is_at_end) {
		size_t got;

		poison_show(reader->buffer, INFLATE_KEPT_BYTES + PACKED_READER_BYTES);
		make_room(reader);
		errcode_t error = packed_file_read(reader->file, reader->buffer + INFLATE_KEPT_BYTES + reader->count,
		                                   PACKED_READER_BYTES - reader->count, reader->next, &got);

		if (error)
			return error;
		reader->count += got;
		reader->next += got;
		reader->is_at_end = !got;
		poison_hide(reader->bytes + reader->count, PACKED_READER_BYTES - reader->count);
	}
	return 0;
}
