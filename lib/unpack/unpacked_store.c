/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unpack/unpacked_store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/bisect.h"
#include "support/io/unnamed_file.h"
#include "support/io/whole_io.h"
#include "support/poison.h"
#include "support/vector.h"
#include "support/zeros.h"

/*
 * The store gets memory from the system in slabs of this size: malloc() would ask for each buffer, and trim when it is
 * freed.
 */
#define SLAB_BYTES (16 * UNPACKED_PIECE_BYTES)

/* So many free buffers are kept ready, with memory that has been touched. */
#define PREPARED_BUFFERS 16

struct piece {
	uint64_t start;
	uint64_t spilled_at; /* where it is in the temporary file, if memory is NULL */
	uint8_t *memory;
	size_t bytes;
	atomic_size_t wanted_bytes; /* bytes that are still to be read */
	atomic_bool is_dropped;     /* no byte was wanted, or all wanted bytes have been read */
	bool is_zero;               /* all bytes are, so they are nowhere */
};

struct unpacked_budget {
	uint64_t most_bytes;
	atomic_uint_fast64_t used_bytes;
	atomic_uint users;     /* counts stores, and the caller that has created it */
	atomic_int descriptor; /* of the temporary file; -1: nothing had to go there yet */
	atomic_uint_fast64_t end_bytes;
};

struct unpacked_store {
	struct unpacked_budget *budget;
	const char *directory;
	struct piece *pieces; /* ascending, without gaps; no piece is empty */
	size_t count, capacity;
	bool last_is_settled; /* it is decided whether the last piece stays in memory or in the file */
	uint8_t *copied;      /* the last piece's buffer, if unpacked_store_copy() fills it, or NULL */

	pthread_mutex_t lock; /* protects the members below */
	uint8_t **slabs;
	size_t slab_count, slab_capacity;
	size_t slab_used; /* bytes of the last one */
	uint8_t **free;   /* buffers */
	size_t free_count, free_capacity;
};

errcode_t unpacked_budget_create(uint64_t most_bytes, struct unpacked_budget **ret)
{
	struct unpacked_budget *budget = calloc(1, sizeof(*budget));

	*ret = budget;
	if (!budget)
		return ENOMEM;
	budget->most_bytes = most_bytes;
	budget->users = 1;
	budget->descriptor = -1;
	return 0;
}

void unpacked_budget_release(struct unpacked_budget *budget)
{
	if (!budget || atomic_fetch_sub(&budget->users, 1) > 1)
		return;
	if (budget->descriptor >= 0)
		close(budget->descriptor);
	free(budget);
}

uint64_t unpacked_budget_used(const struct unpacked_budget *budget)
{
	return atomic_load_explicit(&budget->used_bytes, memory_order_relaxed);
}

errcode_t unpacked_store_create(struct unpacked_budget *budget, const char *directory, struct unpacked_store **ret)
{
	struct unpacked_store *store = calloc(1, sizeof(*store));

	*ret = NULL;
	if (!store || (!budget && unpacked_budget_create(0, &store->budget))) {
		free(store);
		return ENOMEM;
	}
	if (budget) {
		atomic_fetch_add(&budget->users, 1);
		store->budget = budget;
	}
	store->directory = directory ? directory : "/tmp";
	store->last_is_settled = true;
	pthread_mutex_init(&store->lock, NULL);
	*ret = store;
	return 0;
}

/*
 * Releases a piece's memory or its place in the file. If the system refuses, it only keeps bytes that are no longer
 * wanted, so the result is ignored.
 */
static void give_up(const struct unpacked_store *store, struct piece *piece)
{
	struct unpacked_budget *budget = store->budget;

	atomic_store_explicit(&piece->is_dropped, true, memory_order_relaxed);
	if (piece->is_zero)
		return;
	if (!piece->memory) {
		(void)!fallocate(budget->descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		                 (off_t)piece->spilled_at, (off_t)piece->bytes);
		return;
	}
	(void)!madvise(piece->memory, UNPACKED_PIECE_BYTES, MADV_DONTNEED);
	atomic_fetch_sub_explicit(&budget->used_bytes, UNPACKED_PIECE_BYTES, memory_order_relaxed);
}

void unpacked_store_destroy(struct unpacked_store *store)
{
	if (!store)
		return;
	/* Other stores go on with the file: what is read through a cache is read twice if that has no room. */
	for (size_t i = 0; i < store->count - !store->last_is_settled; i++)
		if (!store->pieces[i].is_dropped)
			give_up(store, &store->pieces[i]);
	for (size_t i = 0; i < store->slab_count; i++) {
		poison_show(store->slabs[i], SLAB_BYTES);
		munmap(store->slabs[i], SLAB_BYTES);
	}
	unpacked_budget_release(store->budget);
	pthread_mutex_destroy(&store->lock);
	free(store->slabs);
	free(store->free);
	free(store->pieces);
	free(store);
}

static errcode_t add_slab(struct unpacked_store *store)
{
	errcode_t error =
		vector_reserve(&store->slabs, &store->slab_capacity, store->slab_count + 1, sizeof(*store->slabs));

	if (error)
		return error;
	void *slab = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (slab == MAP_FAILED)
		return ENOMEM;
	store->slabs[store->slab_count++] = slab;
	store->slab_used = 0;
	return 0;
}

/* Returns a new buffer. It makes room in `free`, so that giving the buffer back cannot fail. */
static uint8_t *new_buffer(struct unpacked_store *store)
{
	size_t buffers = (store->slab_count + 1) * (SLAB_BYTES / UNPACKED_PIECE_BYTES);

	if (vector_reserve(&store->free, &store->free_capacity, buffers, sizeof(*store->free)))
		return NULL;
	if ((!store->slab_count || store->slab_used == SLAB_BYTES) && add_slab(store))
		return NULL;
	store->slab_used += UNPACKED_PIECE_BYTES;
	return store->slabs[store->slab_count - 1] + store->slab_used - UNPACKED_PIECE_BYTES;
}

/*
 * Gets the memory of a whole buffer at once. For 1300 MiB this took 0.35 s of processor time; faulting in each page
 * when it was written took 0.55 s.
 */
static void find_memory(uint8_t *buffer)
{
#ifdef MADV_POPULATE_WRITE
	(void)!madvise(buffer, UNPACKED_PIECE_BYTES, MADV_POPULATE_WRITE);
#else
	(void)buffer;
#endif
}

uint8_t *unpacked_store_buffer(struct unpacked_store *store)
{
	pthread_mutex_lock(&store->lock);
	bool is_new = !store->free_count, is_first = !store->slab_count;
	uint8_t *buffer = is_new ? new_buffer(store) : store->free[--store->free_count];

	pthread_mutex_unlock(&store->lock);
	/* The first buffer may be the only one, and little of it may be used, so its memory is not touched. */
	if (buffer)
		poison_show(buffer, UNPACKED_PIECE_BYTES);
	if (buffer && is_new && !is_first)
		find_memory(buffer);
	return buffer;
}

bool unpacked_store_prepare(struct unpacked_store *store)
{
	pthread_mutex_lock(&store->lock);
	uint8_t *buffer = store->free_count < PREPARED_BUFFERS ? new_buffer(store) : NULL;

	pthread_mutex_unlock(&store->lock);
	if (!buffer)
		return false;
	find_memory(buffer);
	unpacked_store_give_back(store, buffer);
	return true;
}

void unpacked_store_give_back(struct unpacked_store *store, uint8_t *buffer)
{
	if (!buffer)
		return;
	pthread_mutex_lock(&store->lock);
	store->free[store->free_count++] = buffer;
	pthread_mutex_unlock(&store->lock);
}

/* Takes memory from the budget; false if not so much is left. */
static bool alloc_memory(struct unpacked_budget *budget, size_t bytes)
{
	if (atomic_fetch_add_explicit(&budget->used_bytes, bytes, memory_order_relaxed) + bytes <= budget->most_bytes)
		return true;
	atomic_fetch_sub_explicit(&budget->used_bytes, bytes, memory_order_relaxed);
	return false;
}

/* Opens the budget's temporary file, if no other store has. */
static errcode_t open_spool(const struct unpacked_store *store)
{
	int none = -1, made;
	errcode_t error = unnamed_file_open(store->directory, &made);

	if (error)
		return error;
	if (!atomic_compare_exchange_strong(&store->budget->descriptor, &none, made))
		close(made);
	return 0;
}

static errcode_t spill(struct unpacked_store *store, struct piece *piece, struct problem *problem)
{
	struct unpacked_budget *budget = store->budget;
	errcode_t error = budget->descriptor < 0 ? open_spool(store) : 0;

	if (error)
		return problem_set(problem, error, store->directory, "cannot make a temporary file");
	uint64_t at = atomic_fetch_add(&budget->end_bytes, piece->bytes);

	error = whole_write(budget->descriptor, piece->memory, piece->bytes, at);
	if (error)
		return problem_set(problem, error, store->directory, "cannot write a temporary file");
	piece->spilled_at = at;
	unpacked_store_give_back(store, TAKE(piece->memory));
	return 0;
}

/*
 * Drops the piece before the last if nothing in it is wanted. Such a piece holds only headers; ten million of them take
 * five gigabytes. (The last piece may end with the beginning of bytes that the caller is about to ask for.)
 */
static void drop_unwanted(struct unpacked_store *store, struct piece *piece)
{
	if (piece->wanted_bytes || !(piece->memory || piece->is_zero))
		return;
	piece->is_dropped = true;
	if (piece->is_zero)
		return;
	unpacked_store_give_back(store, TAKE(piece->memory));
	atomic_fetch_sub_explicit(&store->budget->used_bytes, UNPACKED_PIECE_BYTES, memory_order_relaxed);
}

/* Decides where the last piece stays; no caller looks at it any more. */
static errcode_t settle(struct unpacked_store *store, struct problem *problem)
{
	if (store->last_is_settled)
		return 0;
	struct piece *piece = &store->pieces[store->count - 1];

	errcode_t error = 0;

	if (store->count > 1)
		drop_unwanted(store, piece - 1);
	store->copied = NULL;
	piece->is_zero = bytes_are_zero(piece->memory, piece->bytes);
	if (piece->is_zero)
		unpacked_store_give_back(store, TAKE(piece->memory));
	else if (!alloc_memory(store->budget, UNPACKED_PIECE_BYTES))
		error = spill(store, piece, problem);
	store->last_is_settled = !error;
	return error;
}

errcode_t unpacked_store_add(struct unpacked_store *store, uint8_t *buffer, size_t bytes, struct problem *problem)
{
	errcode_t error = settle(store, problem);

	if (!error)
		error = vector_reserve(&store->pieces, &store->capacity, store->count + 1, sizeof(*store->pieces));
	if (error || !bytes) {
		unpacked_store_give_back(store, buffer);
		return error;
	}
	uint64_t start = unpacked_store_end(store);
	struct piece *piece = &store->pieces[store->count++];

	*piece = (struct piece){ .start = start, .memory = buffer, .bytes = bytes };
	poison_hide(buffer + bytes, UNPACKED_PIECE_BYTES - bytes);
	store->last_is_settled = false;
	return 0;
}

/*
 * Frees memory, but keeps its addresses: if they were unmapped, a thread's stack could come to lie there before the
 * whole slab is unmapped.
 */
static void empty(uint8_t *from, const uint8_t *end)
{
	if (from < end)
		(void)!madvise(from, (size_t)(end - from), MADV_DONTNEED);
}

errcode_t unpacked_store_finish(struct unpacked_store *store, struct problem *problem)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	errcode_t error = settle(store, problem);

	if (error || !store->slab_count)
		return error;
	struct piece *last = store->count ? &store->pieces[store->count - 1] : NULL;

	if (last)
		drop_unwanted(store, last);
	if (last && last->memory)
		empty(last->memory + (last->bytes + page - 1) / page * page, last->memory + UNPACKED_PIECE_BYTES);
	while (store->free_count) {
		uint8_t *buffer = store->free[--store->free_count];

		empty(buffer, buffer + UNPACKED_PIECE_BYTES);
	}
	uint8_t *slab = store->slabs[store->slab_count - 1];

	empty(slab + store->slab_used, slab + SLAB_BYTES);
	store->slab_used = SLAB_BYTES;
	return 0;
}

/* Begins a new piece, whose first bytes are copied to it. */
static errcode_t begin_copy(struct unpacked_store *store, size_t bytes, struct problem *problem)
{
	uint8_t *buffer = unpacked_store_buffer(store);
	errcode_t error = buffer ? unpacked_store_add(store, buffer, bytes, problem) : ENOMEM;

	store->copied = error ? NULL : buffer;
	if (!error)
		store->pieces[store->count - 1].wanted_bytes = bytes;
	return error;
}

errcode_t unpacked_store_copy(struct unpacked_store *store, const void *bytes, size_t count, struct problem *problem)
{
	while (count) {
		struct piece *last = store->copied ? &store->pieces[store->count - 1] : NULL;
		size_t used = last ? last->bytes : UNPACKED_PIECE_BYTES, part;

		if (used == UNPACKED_PIECE_BYTES) {
			part = count < UNPACKED_PIECE_BYTES ? count : UNPACKED_PIECE_BYTES;
			errcode_t error = begin_copy(store, part, problem);

			if (error)
				return error;
			used = 0;
		} else {
			part = count < UNPACKED_PIECE_BYTES - used ? count : UNPACKED_PIECE_BYTES - used;
			last->bytes += part;
			last->wanted_bytes += part;
			poison_show(store->copied + used, part);
		}
		memcpy(store->copied + used, bytes, part);
		bytes = (const char *)bytes + part;
		count -= part;
	}
	return 0;
}

void unpacked_store_want(struct unpacked_store *store, uint64_t at, size_t count)
{
	uint64_t end = at + count;

	for (size_t i = store->count; i-- && store->pieces[i].start + store->pieces[i].bytes > at;) {
		struct piece *piece = &store->pieces[i];
		uint64_t from = piece->start > at ? piece->start : at;
		uint64_t to = piece->start + piece->bytes < end ? piece->start + piece->bytes : end;

		piece->wanted_bytes += to > from ? to - from : 0;
	}
}

uint64_t unpacked_store_end(const struct unpacked_store *store)
{
	const struct piece *last = store->count ? &store->pieces[store->count - 1] : NULL;

	return last ? last->start + last->bytes : 0;
}

/* The part of a run of bytes that is in one piece. */
struct piece_part {
	struct piece *piece; /* NULL: the run is beyond the end */
	size_t from, bytes;
};

static struct piece_part part_at(const struct unpacked_store *store, uint64_t at, size_t count)
{
	size_t number = BISECT(store->count, index, store->pieces[index].start + store->pieces[index].bytes > at);

	if (number == store->count)
		return (struct piece_part){ 0 };
	struct piece *piece = &store->pieces[number];
	size_t from = (size_t)(at - piece->start), left = piece->bytes - from;

	return (struct piece_part){ piece, from, left < count ? left : count };
}

void unpacked_store_release(const struct unpacked_store *store, uint64_t at, size_t count)
{
	for (struct piece_part part; count; at += part.bytes, count -= part.bytes) {
		part = part_at(store, at, count);
		if (!part.piece)
			return;
		/* Other readers have already read the rest of the piece. */
		if (atomic_fetch_sub_explicit(&part.piece->wanted_bytes, part.bytes, memory_order_acq_rel) ==
		    part.bytes)
			give_up(store, part.piece);
	}
}

errcode_t unpacked_store_read(const struct unpacked_store *store, void *bytes, size_t count, uint64_t at)
{
	char *to = bytes;

	for (struct piece_part part; count; to += part.bytes, at += part.bytes, count -= part.bytes) {
		part = part_at(store, at, count);
		if (!part.piece)
			return ENODATA;
		if (atomic_load_explicit(&part.piece->is_dropped, memory_order_relaxed))
			return ENODATA;
		errcode_t error = 0;

		if (part.piece->is_zero)
			memset(to, 0, part.bytes);
		else if (part.piece->memory)
			memcpy(to, part.piece->memory + part.from, part.bytes);
		else
			error = whole_read(store->budget->descriptor, to, part.bytes,
			                   part.piece->spilled_at + part.from);
		if (error)
			return error;
	}
	return 0;
}
