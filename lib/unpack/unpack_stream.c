/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unpack/unpack_stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/run/condition.h"
#include "support/run/interrupt.h"

/* The states of a unit that a thread has taken; their order matters. */
enum unit_state {
	UNIT_FREE,
	UNIT_SEARCHING, /* a thread looks for the beginning of a member */
	UNIT_UNPACKING, /* from `start` on */
	UNIT_ENDED,     /* it ends where `successor` begins, at the end of the file, or with an error */
	UNIT_DROPPED,   /* it has no member, or another unit goes on through it */
};

struct waiting_piece {
	uint8_t *buffer;
	size_t bytes;
};

struct unit {
	enum unit_state state;
	uint64_t start;
	size_t successor; /* 0: there is none */
	uint64_t restart; /* where the last member begins, if it has given no bytes yet */
	errcode_t error;  /* EAGAIN: it must be known that a member begins at `restart` before it is unpacked */
	char *reason;     /* owned */
	struct packed_rest rest;
	struct waiting_piece waiting[UNPACK_WAITING_PIECES];
	size_t first, count; /* the pieces that wait, a ring */
	bool is_left;        /* its thread has left it */
};

struct unpack_stream {
	struct unpack_source source;
	uint64_t unit_bytes;     /* of the packed file */
	struct decoder decoder;  /* the caller's own, used without threads; with threads its format is NULL */
	errcode_t alone_error;   /* the decoder's error, reported after the bytes it has given */
	char *damage;            /* why a unit is damaged; owned */
	struct packed_rest rest; /* of the last unit, once it has ended */

	pthread_mutex_t lock; /* protects all members below, except what only a unit's thread uses */
	pthread_cond_t changed;
	pthread_t *threads;
	unsigned int thread_count;
	bool is_stopped;
	struct unit **units; /* by number; NULL: no thread has begun it, or it is finished */
	size_t unit_count;   /* 1 until the first member has ended */
	size_t next;         /* the first unit that no thread has taken */
	size_t head;         /* the unit whose pieces the caller gets */
};

/* Takes the first piece that waits; there must be one. The lock is held. */
static struct waiting_piece claim_piece(struct unit *unit)
{
	struct waiting_piece piece = unit->waiting[unit->first];

	unit->first = (unit->first + 1) % UNPACK_WAITING_PIECES;
	unit->count--;
	return piece;
}

/* Gives all waiting pieces of a unit back to the store. */
static void drop_pieces(struct unpack_stream *stream, struct unit *unit)
{
	while (unit->count)
		unpacked_store_give_back(stream->source.store, claim_piece(unit).buffer);
}

/* Drops a unit. The thread that unpacks it notices this at its next piece. */
static void drop_unit(struct unpack_stream *stream, struct unit *unit)
{
	unit->state = UNIT_DROPPED;
	drop_pieces(stream, unit);
	condition_wake(&stream->changed);
}

/*
 * Adds a piece to those that wait, or gives it back to the store. False: the unit's output is no longer wanted. In
 * either case the buffer is no longer the caller's.
 */
static bool hand_over(struct unpack_stream *stream, struct unit *unit, uint8_t *buffer, size_t bytes)
{
	pthread_mutex_lock(&stream->lock);
	while (unit->count == UNPACK_WAITING_PIECES && unit->state != UNIT_DROPPED && !stream->is_stopped)
		condition_wait_or_look(&stream->changed, &stream->lock);
	bool is_wanted = unit->state != UNIT_DROPPED && !stream->is_stopped;

	if (is_wanted && bytes) {
		unit->waiting[(unit->first + unit->count) % UNPACK_WAITING_PIECES] =
			(struct waiting_piece){ buffer, bytes };
		unit->count++;
		condition_wake(&stream->changed);
	} else {
		unpacked_store_give_back(stream->source.store, buffer);
	}
	pthread_mutex_unlock(&stream->lock);
	return is_wanted;
}

/* Cuts the file into units for the other threads. The first member has ended by then, and another may follow. */
static errcode_t cut_into_units(struct unpack_stream *stream)
{
	size_t count = (size_t)(stream->source.file->size_bytes / stream->unit_bytes) + 1;
	struct unit **units = reallocarray(stream->units, count, sizeof(*units));

	if (!units)
		return ENOMEM;
	memset(units + 1, 0, (count - 1) * sizeof(*units));
	stream->units = units;
	stream->unit_count = count;
	return 0;
}

/*
 * Drops the units between `unit` and `before`. They lie within a member, so any output of theirs is wrong. The lock is
 * held.
 */
static void drop_units(struct unpack_stream *stream, const struct unit *unit, size_t before)
{
	for (size_t i = before; i-- && stream->units[i] != unit;)
		if (stream->units[i] && stream->units[i]->state != UNIT_DROPPED)
			drop_unit(stream, stream->units[i]);
}

/*
 * Finds the unit that goes on at `position`, where a member has ended and another may follow. *limit: how far this unit
 * goes on; *is_done: it ends, since the unit that contains the position began there. The lock is held.
 */
static errcode_t find_successor(struct unpack_stream *stream, struct unit *unit, uint64_t position, uint64_t *limit,
                                bool *is_done)
{
	size_t number = (size_t)(position / stream->unit_bytes);
	errcode_t error = stream->unit_count == 1 ? cut_into_units(stream) : 0;

	if (error)
		return error;
	*limit = number < stream->unit_count ? (number + 1) * stream->unit_bytes : UINT64_MAX;
	if (number >= stream->unit_count || unit->state == UNIT_DROPPED)
		return 0;
	drop_units(stream, unit, number);
	if (number >= stream->next) {
		stream->next = number + 1;
		condition_wake(&stream->changed);
		return 0;
	}
	struct unit *other = stream->units[number];

	if (!other || other == unit)
		return 0;
	while (unit->state != UNIT_DROPPED && !stream->is_stopped && other->state == UNIT_SEARCHING)
		condition_wait_or_look(&stream->changed, &stream->lock);
	if (unit->state == UNIT_DROPPED || stream->is_stopped || other->state == UNIT_DROPPED)
		return 0;
	*is_done = other->start == position;
	if (*is_done)
		unit->successor = number;
	else
		drop_unit(stream, other);
	return 0;
}

/* Decides at the end of a member whether the unit goes on. */
static errcode_t end_of_member(struct unpack_stream *stream, struct unit *unit, const struct decoder *decoder,
                               uint64_t *limit, bool *is_done)
{
	uint64_t position = packed_reader_position(&decoder->reader);

	if (position < *limit || !decoder->format->find_member || !stream->source.file->is_regular ||
	    stream->thread_count < 2)
		return 0;
	pthread_mutex_lock(&stream->lock);
	errcode_t error = find_successor(stream, unit, position, limit, is_done);

	pthread_mutex_unlock(&stream->lock);
	return error;
}

/* Fills a buffer; *is_done: the unit has ended. */
static errcode_t fill_buffer(struct unpack_stream *stream, struct unit *unit, struct decoder *decoder, uint8_t *buffer,
                             size_t *used, uint64_t *limit, bool *is_done)
{
	errcode_t error = 0;

	while (!error && !*is_done && UNPACKED_PIECE_BYTES - *used >= DECODER_LEAST_ROOM) {
		size_t part = 0;

		unit->restart = packed_reader_position(&decoder->reader);
		error = decoder_run(decoder, buffer + *used, UNPACKED_PIECE_BYTES - *used, &part);
		*used += part;
		if (!error && decoder->place == DECODER_BEFORE_MEMBER)
			error = end_of_member(stream, unit, decoder, limit, is_done);
		*is_done |= decoder->place == DECODER_AT_END;
	}
	return error;
}

/* Unpacks from the decoder's position until the unit ends, or is no longer wanted. */
static errcode_t unpack_unit(struct unpack_stream *stream, struct unit *unit, struct decoder *decoder)
{
	uint64_t limit = decoder->is_speculative ? (unit->start / stream->unit_bytes + 1) * stream->unit_bytes : 0;
	bool is_done = false, is_wanted = true;
	errcode_t error = 0;

	while (!error && !is_done && is_wanted) {
		uint8_t *buffer = unpacked_store_buffer(stream->source.store);
		size_t used = 0;

		if (!buffer)
			return ENOMEM;
		error = fill_buffer(stream, unit, decoder, buffer, &used, &limit, &is_done);
		is_wanted = hand_over(stream, unit, buffer, used);
	}
	return error;
}

/* Looks for the beginning of a member in a unit; *is_there is false if there is none. */
static errcode_t search(struct unpack_stream *stream, size_t number, uint64_t *start, bool *is_there)
{
	const struct decoder_format *format = stream->source.format;
	uint64_t from = number * stream->unit_bytes, end = from + stream->unit_bytes;
	struct packed_reader reader;
	errcode_t error = packed_reader_open(&reader, stream->source.file, from);

	*is_there = false;
	while (!error && !*is_there && packed_reader_position(&reader) < end) {
		error = packed_reader_fill(&reader, PACKED_READER_BYTES);
		size_t at = error ? 0 : format->find_member(reader.bytes, reader.count);

		*start = packed_reader_position(&reader) + at;
		*is_there = !error && at < reader.count && *start < end;
		if (error || reader.is_at_end || at < reader.count)
			break;
		/* The next member may begin in the last bytes, so they are kept. */
		packed_reader_skip(&reader, reader.count - (reader.count < 4 ? reader.count : 4));
	}
	packed_reader_close(&reader);
	return error;
}

static void note_end(struct unpack_stream *stream, struct unit *unit, errcode_t error, struct decoder *decoder)
{
	pthread_mutex_lock(&stream->lock);
	if (unit->state != UNIT_DROPPED) {
		unit->error = error;
		unit->reason = error == EBADMSG ? strdup(decoder->reason) : NULL;
		unit->rest = decoder->rest;
		decoder->rest = (struct packed_rest){ 0 };
		unit->state = UNIT_ENDED;
	}
	condition_wake(&stream->changed);
	pthread_mutex_unlock(&stream->lock);
}

/* Begins a unit other than the first. False: no member begins in it. */
static bool begin_unit(struct unpack_stream *stream, struct unit *unit, size_t number)
{
	uint64_t start = 0;
	bool is_there;
	/* The unit before also reaches this place, and reports any error that occurs here. */
	errcode_t error = search(stream, number, &start, &is_there);

	pthread_mutex_lock(&stream->lock);
	bool is_right = !error && is_there && unit->state == UNIT_SEARCHING;

	unit->start = start;
	unit->state = is_right ? UNIT_UNPACKING : UNIT_DROPPED;
	condition_wake(&stream->changed);
	pthread_mutex_unlock(&stream->lock);
	return is_right;
}

static void run_unit(struct unpack_stream *stream, struct unit *unit, size_t number)
{
	const struct unpack_source *source = &stream->source;
	struct decoder decoder = { 0 };

	if (number && !begin_unit(stream, unit, number))
		return;
	errcode_t error = decoder_open(&decoder, source->format, source->context, source->file, unit->start, number);

	if (!error)
		error = unpack_unit(stream, unit, &decoder);
	note_end(stream, unit, error, &decoder);
	decoder_close(&decoder);
}

/*
 * True if a thread may take another unit. There is one unit more than there are threads, so that no thread waits until
 * the caller passes on to the next.
 */
static bool has_unit(const struct unpack_stream *stream)
{
	return stream->next < stream->unit_count && stream->next <= stream->head + stream->thread_count;
}

/* Takes a unit. NULL: there is no memory; then the unit before goes on through it. */
static struct unit *claim_unit(struct unpack_stream *stream, size_t number)
{
	struct unit *unit = number ? calloc(1, sizeof(*unit)) : stream->units[0];

	if (unit)
		unit->state = number ? UNIT_SEARCHING : UNIT_UNPACKING;
	stream->units[number] = unit;
	stream->next = number + 1;
	return unit;
}

static void free_unit(struct unpack_stream *stream, size_t number)
{
	struct unit *unit = TAKE(stream->units[number]);

	if (!unit)
		return;
	drop_pieces(stream, unit);
	free(unit->reason);
	free(unit->rest.bytes);
	free(unit);
}

static void *unpack(void *argument)
{
	struct unpack_stream *stream = argument;

	pthread_mutex_lock(&stream->lock);
	for (;;) {
		while (!stream->is_stopped && !has_unit(stream))
			condition_wait_or_look(&stream->changed, &stream->lock);
		if (stream->is_stopped)
			break;
		size_t number = stream->next;
		struct unit *unit = claim_unit(stream, number);

		if (!unit)
			continue;
		pthread_mutex_unlock(&stream->lock);
		run_unit(stream, unit, number);
		pthread_mutex_lock(&stream->lock);
		unit->is_left = true;
	}
	pthread_mutex_unlock(&stream->lock);
	return NULL;
}

/*
 * Passes the caller on to a unit. Earlier units that still have a thread are freed when the stream is closed. The lock
 * is held.
 */
static void pass_on(struct unpack_stream *stream, size_t number)
{
	for (; stream->head < number; stream->head++)
		if (stream->units[stream->head] && stream->units[stream->head]->is_left)
			free_unit(stream, stream->head);
	condition_wake(&stream->changed);
}

static void stop_threads(struct unpack_stream *stream)
{
	if (!stream->thread_count)
		return;
	pthread_mutex_lock(&stream->lock);
	stream->is_stopped = true;
	atomic_store_explicit(&stream->source.file->is_stopped, true, memory_order_relaxed);
	condition_wake(&stream->changed);
	pthread_mutex_unlock(&stream->lock);
	for (unsigned int i = 0; i < stream->thread_count; i++)
		pthread_join(stream->threads[i], NULL);
	stream->thread_count = 0;
	atomic_store_explicit(&stream->source.file->is_stopped, false, memory_order_relaxed);
}

/* Stops the threads; the caller unpacks the rest itself. */
static errcode_t go_on_alone(struct unpack_stream *stream, uint64_t at)
{
	stop_threads(stream);
	return decoder_open(&stream->decoder, stream->source.format, stream->source.context, stream->source.file, at,
	                    false);
}

static errcode_t start_threads(struct unpack_stream *stream)
{
	stream->unit_count = 1;
	stream->units = calloc(1, sizeof(*stream->units));
	stream->threads = calloc(stream->source.threads, sizeof(*stream->threads));
	if (!stream->units || !stream->threads)
		return ENOMEM;
	stream->units[0] = calloc(1, sizeof(**stream->units));
	if (!stream->units[0])
		return ENOMEM;
	/* The threads read thread_count once they have the lock. */
	pthread_mutex_lock(&stream->lock);
	int error = 0;

	while (!error && stream->thread_count < stream->source.threads) {
		error = thread_start(&stream->threads[stream->thread_count], unpack, stream);
		stream->thread_count += !error;
	}
	pthread_mutex_unlock(&stream->lock);
	return error;
}

errcode_t unpack_stream_open(const struct unpack_source *source, struct unpack_stream **ret)
{
	struct unpack_stream *stream = calloc(1, sizeof(*stream));

	*ret = stream;
	if (!stream)
		return ENOMEM;
	*stream = (struct unpack_stream){ .source = *source,
		                          .lock = PTHREAD_MUTEX_INITIALIZER,
		                          .changed = PTHREAD_COND_INITIALIZER };
	stream->unit_bytes = source->unit_bytes ? source->unit_bytes : UNPACK_UNIT_BYTES;
	return source->threads ? start_threads(stream) : go_on_alone(stream, 0);
}

void unpack_stream_close(struct unpack_stream *stream)
{
	if (!stream)
		return;
	stop_threads(stream);
	decoder_close(&stream->decoder);
	for (size_t i = 0; i < stream->unit_count; i++)
		free_unit(stream, i);
	pthread_cond_destroy(&stream->changed);
	pthread_mutex_destroy(&stream->lock);
	free(stream->threads);
	free(stream->units);
	free(stream->damage);
	free(stream);
}

/* Unpacks a piece in the caller's own thread; no piece at the end. */
static errcode_t unpack_alone(struct unpack_stream *stream, struct waiting_piece *piece)
{
	struct decoder *decoder = &stream->decoder;
	uint8_t *buffer = unpacked_store_buffer(stream->source.store);
	errcode_t error = stream->alone_error;
	size_t used = 0;

	if (!buffer)
		return ENOMEM;
	while (!error && decoder->place != DECODER_AT_END && UNPACKED_PIECE_BYTES - used >= DECODER_LEAST_ROOM) {
		size_t part = 0;

		error = interrupt_pending() ? EINTR :
		                              decoder_run(decoder, buffer + used, UNPACKED_PIECE_BYTES - used, &part);
		used += part;
	}
	/* The caller gets the bytes before the damage first, as with threads. */
	stream->alone_error = error;
	*piece = (struct waiting_piece){ buffer, used };
	if (used)
		return 0;
	unpacked_store_give_back(stream->source.store, TAKE(piece->buffer));
	return error;
}

/*
 * Prepares a buffer, or waits: the caller has time for that, and the threads that unpack have none. The lock is held.
 */
static void wait_usefully(struct unpack_stream *stream)
{
	pthread_mutex_unlock(&stream->lock);
	bool was_useful = unpacked_store_prepare(stream->source.store);

	pthread_mutex_lock(&stream->lock);
	const struct unit *head = stream->units[stream->head];

	/* A piece may have come while the lock was released. */
	if (!was_useful && !head->count && head->state != UNIT_ENDED)
		condition_wait_or_look(&stream->changed, &stream->lock);
}

/* Waits for the next piece; no piece at the end. The lock is held. */
static errcode_t wait_for_piece(struct unpack_stream *stream, struct waiting_piece *piece, uint64_t *restart)
{
	for (;;) {
		struct unit *unit = stream->units[stream->head];

		if (unit->count) {
			*piece = claim_piece(unit);
			condition_wake(&stream->changed);
			return 0;
		}
		if (unit->state == UNIT_ENDED && unit->successor)
			pass_on(stream, unit->successor);
		else if (unit->state == UNIT_ENDED) {
			if (unit->reason && !stream->damage)
				stream->damage = strdup(unit->reason);
			*restart = unit->restart;
			stream->rest = unit->rest;
			return unit->error;
		} else if (interrupt_pending())
			return EINTR;
		else
			wait_usefully(stream);
	}
}

static errcode_t get_piece(struct unpack_stream *stream, struct waiting_piece *piece)
{
	uint64_t restart = 0;

	*piece = (struct waiting_piece){ 0 };
	if (stream->decoder.format)
		return unpack_alone(stream, piece);
	pthread_mutex_lock(&stream->lock);
	errcode_t error = wait_for_piece(stream, piece, &restart);

	pthread_mutex_unlock(&stream->lock);
	if (error == EAGAIN)
		error = go_on_alone(stream, restart);
	else
		return error;
	return error ? error : unpack_alone(stream, piece);
}

errcode_t unpack_stream_next(struct unpack_stream *stream, const uint8_t **bytes, size_t *count,
                             struct problem *problem)
{
	struct waiting_piece piece;
	errcode_t error = get_piece(stream, &piece);

	if (!error)
		error = source_counts_unpacked(stream->source.counts, piece.bytes);
	if (error)
		unpacked_store_give_back(stream->source.store, TAKE(piece.buffer));
	*bytes = piece.buffer;
	*count = error ? 0 : piece.bytes;
	if (!error && piece.bytes)
		error = unpacked_store_add(stream->source.store, piece.buffer, piece.bytes, problem);
	if (error)
		*count = 0;
	return error;
}

const struct packed_rest *unpack_stream_rest(const struct unpack_stream *stream)
{
	return stream->decoder.format ? &stream->decoder.rest : &stream->rest;
}

const char *unpack_stream_reason(const struct unpack_stream *stream)
{
	return stream->damage ? stream->damage : stream->decoder.reason;
}
