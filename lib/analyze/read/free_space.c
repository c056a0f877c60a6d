/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/read/free_space.h"

#include <errno.h>
#include <string.h>

#include "image/block_bitmaps.h"
#include "support/bisect.h"
#include "support/bits.h"

#define BATCH_GROUPS 64 /* of a task; with flex_bg adjacent bitmaps, often of 16 groups, are read at once */
#define MOST_ZONES 64

/* A group's summary from its bitmap, in clusters. Extents at its borders may continue beyond them. */
struct group_space {
	uint32_t leading;  /* free at its start; all of it if the group is empty */
	uint32_t trailing; /* free at its end */
	uint32_t free;
	uint32_t fragments;
	uint32_t largest;
	bool is_left_out; /* the budget is spent, or the bitmap is wrong: the group is not counted */
};

struct worker {
	uint64_t *bitmaps;      /* of BATCH_GROUPS groups */
	uint64_t *freed;        /* a group's, without the freed blocks; NULL: there are none */
	struct histogram sizes; /* of extents that touch no border */
	uint64_t largest, largest_start;
	uint64_t free_chunks;
	uint64_t unreadable, unsettled;
	struct damage_list damage;
};

struct bitmap_reader {
	const struct volume *volume;
	struct report *report;
	struct group_space *groups;
	struct worker *workers;
	const struct block_run *freed; /* count as free; ascending */
	size_t freed_count;
};

/* Counts a whole free extent, in blocks. */
static void read_extent(const struct bitmap_reader *reading, struct worker *worker, uint64_t start, uint64_t count)
{
	uint64_t chunk = reading->report->free.chunk_blocks;

	histogram_add(&worker->sizes, count);
	if (count > worker->largest || (count == worker->largest && start < worker->largest_start)) {
		worker->largest = count;
		worker->largest_start = start;
	}
	if (chunk) {
		uint64_t first = (start + chunk - 1) / chunk, end = (start + count) / chunk;

		worker->free_chunks += end > first ? end - first : 0;
	}
}

/* Counts a free run as the buddy allocator divides it: into the largest aligned powers of two. */
static void count_orders(struct report_group *details, unsigned int orders, uint32_t from, uint32_t end)
{
	while (from < end) {
		unsigned int order = 31 - (unsigned int)__builtin_clz(end - from);
		unsigned int aligned = from ? (unsigned int)__builtin_ctz(from) : order;

		order = order < aligned ? order : aligned;
		order = order < orders ? order : orders - 1;
		details->orders[order]++;
		from += UINT32_C(1) << order;
	}
}

static void read_group(const struct bitmap_reader *reading, struct worker *worker, uint32_t number,
                       const uint64_t *bitmap)
{
	const struct geometry *geometry = &reading->volume->geometry;
	uint32_t clusters = geometry_group_clusters(geometry, number);
	struct group_space *space = &reading->groups[number];
	struct report_group *details = reading->report->free.groups ? &reading->report->free.groups[number] : NULL;

	for (uint32_t end, from = bits_next_zero(bitmap, 0, clusters); from < clusters;
	     from = bits_next_zero(bitmap, end, clusters)) {
		end = bits_next_one(bitmap, from, clusters);
		uint32_t count = end - from;

		if (details && !space->fragments)
			details->first_free = from;
		if (details)
			count_orders(details, reading->report->free.orders, from, end);
		space->free += count;
		space->fragments++;
		space->largest = count > space->largest ? count : space->largest;
		if (!from)
			space->leading = count;
		if (end == clusters)
			space->trailing = count;
		if (from && end < clusters)
			read_extent(reading, worker, geometry_block(geometry, number, from),
			            (uint64_t)count << geometry->cluster_bits);
	}
	if (details) {
		if (!space->fragments)
			details->first_free = clusters;
		details->free_clusters = space->free;
		details->fragments = space->fragments;
		details->largest_clusters = space->largest;
	}
}

/* what is NULL if the damage has been noted. */
static void lose_group(const struct bitmap_reader *reading, struct worker *worker, uint32_t number, const char *what)
{
	worker->unreadable++;
	reading->groups[number].is_left_out = true;
	if (reading->report->free.groups)
		reading->report->free.groups[number].is_unreadable = true;
	if (what)
		damage_add_group(&worker->damage, number, what);
}

/* Returns the bitmap without the freed blocks. */
static const uint64_t *without_freed(const struct bitmap_reader *reading, struct worker *worker, uint32_t number,
                                     const uint64_t *bitmap)
{
	const struct geometry *geometry = &reading->volume->geometry;
	uint32_t clusters = geometry_group_clusters(geometry, number);
	uint64_t start = geometry_block(geometry, number, 0);
	uint64_t end = start + ((uint64_t)clusters << geometry->cluster_bits);
	const struct block_run *runs = reading->freed;

	memcpy(worker->freed, bitmap, (size_t)1 << reading->volume->format.block_bits);
	for (size_t n = BISECT(reading->freed_count, index, runs[index].start + runs[index].count > start);
	     n < reading->freed_count && runs[n].start < end; n++) {
		uint64_t from = runs[n].start > start ? runs[n].start - start : 0;
		uint64_t to = runs[n].start + runs[n].count < end ? runs[n].start + runs[n].count - start : end - start;

		for (uint64_t cluster = from >> geometry->cluster_bits; cluster << geometry->cluster_bits < to;
		     cluster++)
			worker->freed[cluster / 64] &= ~(UINT64_C(1) << cluster % 64);
	}
	return worker->freed;
}

/* The task that reads a bitmap. */
struct batch {
	const struct bitmap_reader *reading;
	struct worker *worker;
};

/* A wrong bitmap is not counted, unless the filesystem is in use and may just be writing it. */
static void read_if_right(void *context, const struct block_bitmap *bitmap)
{
	const struct batch *batch = context;

	if (!bitmap->bits || (bitmap->wrong && batch->reading->volume->is_at_rest)) {
		lose_group(batch->reading, batch->worker, bitmap->group, bitmap->wrong);
		return;
	}
	batch->worker->unsettled += !!bitmap->wrong;
	read_group(batch->reading, batch->worker, bitmap->group,
	           batch->worker->freed ? without_freed(batch->reading, batch->worker, bitmap->group, bitmap->bits) :
	                                  bitmap->bits);
}

static void leave_out(const struct bitmap_reader *reading, uint32_t number, uint32_t end)
{
	__atomic_add_fetch(&reading->report->quick.groups, end - number, __ATOMIC_RELAXED);
	for (; number < end; number++) {
		reading->groups[number].is_left_out = true;
		if (reading->report->free.groups)
			reading->report->free.groups[number].is_unreadable = true;
	}
}

static errcode_t read_batch(void *context, unsigned int index, size_t batch, struct problem *problem UNUSED)
{
	const struct bitmap_reader *reading = context;
	const struct volume *volume = reading->volume;
	struct worker *worker = &reading->workers[index];
	size_t batches = (volume->geometry.groups + BATCH_GROUPS - 1) / BATCH_GROUPS;
	uint32_t number = (uint32_t)volume_spread(volume, batch, batches) * BATCH_GROUPS;
	uint32_t end =
		volume->geometry.groups - number < BATCH_GROUPS ? volume->geometry.groups : number + BATCH_GROUPS;

	if (volume_is_spent(volume)) {
		leave_out(reading, number, end);
		return 0;
	}
	if (!worker->bitmaps)
		worker->bitmaps = malloc((size_t)BATCH_GROUPS << volume->format.block_bits);
	if (reading->freed_count && !worker->freed)
		worker->freed = malloc((size_t)1 << volume->format.block_bits);
	if (!worker->bitmaps || (reading->freed_count && !worker->freed))
		return ENOMEM;
	struct batch shown = { reading, worker };

	block_bitmaps_read(volume, number, end, worker->bitmaps, read_if_right, &shown);
	return 0;
}

/* Joins extents across the borders of groups. */
static void join_groups(const struct bitmap_reader *reading, struct worker *total)
{
	const struct geometry *geometry = &reading->volume->geometry;
	uint64_t start = 0, count = 0; /* the extent that reaches up to the group, in blocks */

	for (uint32_t number = 0; number < geometry->groups; number++) {
		const struct group_space *space = &reading->groups[number];
		uint32_t clusters = geometry_group_clusters(geometry, number);

		if (space->leading && !count)
			start = geometry_block(geometry, number, 0);
		count += (uint64_t)space->leading << geometry->cluster_bits;
		if (space->leading == clusters)
			continue;
		if (count)
			read_extent(reading, total, start, count);
		start = geometry_block(geometry, number, clusters - space->trailing);
		count = (uint64_t)space->trailing << geometry->cluster_bits;
	}
	if (count)
		read_extent(reading, total, start, count);
}

static errcode_t make_zones(const struct bitmap_reader *reading)
{
	struct report_free *free_space = &reading->report->free;
	const struct geometry *geometry = &reading->volume->geometry;
	uint32_t per_zone = (geometry->groups + MOST_ZONES - 1) / MOST_ZONES;

	free_space->zone_count = (geometry->groups + per_zone - 1) / per_zone;
	free_space->zones = calloc(free_space->zone_count, sizeof(*free_space->zones));
	if (!free_space->zones)
		return ENOMEM;
	for (uint32_t number = 0; number < geometry->groups; number++) {
		const struct group_space *space = &reading->groups[number];
		struct report_zone *zone = &free_space->zones[number / per_zone];
		uint64_t largest = (uint64_t)space->largest << geometry->cluster_bits;

		if (number % per_zone == 0)
			zone->first_group = number;
		zone->groups++;
		if (space->is_left_out)
			continue;
		zone->blocks += (uint64_t)geometry_group_clusters(geometry, number) << geometry->cluster_bits;
		zone->free_blocks += (uint64_t)space->free << geometry->cluster_bits;
		zone->extents += space->fragments;
		zone->largest = largest > zone->largest ? largest : zone->largest;
		if (largest > free_space->largest_allocatable)
			free_space->largest_allocatable = largest;
	}
	return 0;
}

static void merge_worker(struct worker *total, const struct worker *worker)
{
	histogram_merge(&total->sizes, &worker->sizes);
	if (worker->largest > total->largest ||
	    (worker->largest == total->largest && worker->largest_start < total->largest_start)) {
		total->largest = worker->largest;
		total->largest_start = worker->largest_start;
	}
	total->free_chunks += worker->free_chunks;
	total->unreadable += worker->unreadable;
	total->unsettled += worker->unsettled;
	damage_merge(&total->damage, &worker->damage);
}

/* Adds all workers' results to the first worker's. */
static errcode_t finish(const struct bitmap_reader *reading, unsigned int workers)
{
	struct report_free *free_space = &reading->report->free;
	struct worker *total = &reading->workers[0];

	for (unsigned int index = 1; index < workers; index++)
		merge_worker(total, &reading->workers[index]);
	join_groups(reading, total);
	free_space->sizes = total->sizes;
	free_space->largest_start = total->largest_start;
	free_space->free_chunks = total->free_chunks;
	free_space->unreadable_groups = total->unreadable;
	free_space->unsettled_groups = total->unsettled;
	damage_merge(&reading->report->damage, &total->damage);
	return make_zones(reading);
}

static errcode_t read_all(struct bitmap_reader *reading, struct pool *pool)
{
	uint32_t groups = reading->volume->geometry.groups;
	unsigned int workers = pool_workers(pool);
	SCOPE_FREE struct group_space *spaces = calloc(groups, sizeof(*spaces));
	SCOPE_FREE struct worker *each = calloc(workers, sizeof(*each));

	if (!spaces || !each)
		return ENOMEM;
	reading->groups = spaces;
	reading->workers = each;
	errcode_t error = pool_run(pool, (groups + BATCH_GROUPS - 1) / BATCH_GROUPS, read_batch, reading, NULL);

	if (!error)
		error = finish(reading, workers);
	for (unsigned int index = 0; index < workers; index++) {
		free(each[index].bitmaps);
		free(each[index].freed);
	}
	return error;
}

errcode_t free_space_read(const struct volume *volume, struct pool *pool, bool with_groups, struct report *report)
{
	struct report_free *free_space = &report->free;
	struct bitmap_reader reading = { .volume = volume, .report = report };

	if (free_space->chunk_blocks)
		free_space->chunks =
			(volume->geometry.end_block + free_space->chunk_blocks - 1) / free_space->chunk_blocks;
	free_space->orders = volume->format.block_bits + 2;
	if (with_groups)
		free_space->groups = calloc(volume->geometry.groups, sizeof(*free_space->groups));
	if (with_groups && !free_space->groups)
		return ENOMEM;
	return read_all(&reading, pool);
}

errcode_t free_space_read_without(const struct volume *volume, struct pool *pool, const struct block_run *runs,
                                  size_t count, struct report_free *space)
{
	SCOPE_FREE struct report *scratch = calloc(1, sizeof(*scratch));
	struct bitmap_reader reading = { .volume = volume, .report = scratch, .freed = runs, .freed_count = count };

	if (!scratch)
		return ENOMEM;
	errcode_t error = read_all(&reading, pool);

	*space = scratch->free;
	return error;
}
