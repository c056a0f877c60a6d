/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "crash_points.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "recorded_disk.h"
#include "support/cleanup.h"

#define SECTOR_BYTES 512
#define SUPER_OFFSET_BYTES 1024
#define SUPER_BYTES 1024

enum loss { LOSS_NONE, LOSS_DROPPED, LOSS_TORN, LOSS_REORDERED, LOSSES };
static const char *const loss_names[LOSSES] = { "whole", "with writes dropped", "torn", "reordered" };

static void apply(struct crash_disk *disk, const struct disk_event *event)
{
	memcpy(disk->bytes + event->offset, event->data, event->bytes);
}

/* Only some of its sectors; those of the primary superblock, whose checksum does not survive that, mostly together. */
static void apply_torn(struct crash_disk *disk, const struct disk_event *event, struct random *random)
{
	bool has_super = random_below(random, 2), is_super_torn = disk->tears_super && !random_below(random, 2);

	for (uint64_t at = 0; at < event->bytes; at += SECTOR_BYTES) {
		uint64_t offset = event->offset + at;
		bool is_super = offset >= SUPER_OFFSET_BYTES && offset < SUPER_OFFSET_BYTES + SUPER_BYTES;
		bool is_there = random_below(random, 2);

		if (is_super && !is_super_torn ? has_super : is_there)
			memcpy(disk->bytes + offset, event->data + at, SECTOR_BYTES);
	}
}

/* A part of what is between the last flush and the crash. */
static void apply_unflushed(struct crash_disk *disk, size_t from, size_t to, enum loss loss, struct random *random)
{
	size_t count = 0;
	SCOPE_FREE size_t *order = calloc(to - from + 1, sizeof(*order));

	for (size_t index = from; index < to; index++)
		if (recorded_disk.events[index].kind == DISK_WRITE)
			order[count++] = index;
	for (size_t index = count; loss == LOSS_REORDERED && index > 1; index--) {
		size_t other = random_below(random, index), kept = order[index - 1];

		order[index - 1] = order[other];
		order[other] = kept;
	}
	for (size_t index = 0; index < count; index++) {
		const struct disk_event *event = &recorded_disk.events[order[index]];

		if (loss == LOSS_TORN)
			apply_torn(disk, event, random);
		else if (loss == LOSS_NONE || random_below(random, 2))
			apply(disk, event);
	}
}

/* Anywhere, or just before a flush, where most is at stake: a commit has few flushes and many writes. */
static size_t some_moment(struct random *random)
{
	size_t flushes = 0;

	for (size_t index = 0; index < recorded_disk.count; index++)
		flushes += recorded_disk.events[index].kind == DISK_FLUSH;
	if (!flushes || random_below(random, 2))
		return random_below(random, recorded_disk.count + 1);
	uint64_t wanted = random_below(random, flushes);

	for (size_t index = 0;; index++)
		if (recorded_disk.events[index].kind == DISK_FLUSH && !wanted--)
			return index;
}

struct crash_point crash_disk_make(struct crash_disk *disk, struct random *random)
{
	struct crash_point point = { .end = some_moment(random) };
	enum loss loss = random_below(random, LOSSES);
	size_t flushed = 0;

	point.loss = loss_names[loss];
	memcpy(disk->bytes, disk->base, disk->size);
	for (size_t index = 0; index < point.end; index++) {
		point.commits += recorded_disk.events[index].kind == DISK_COMMITTED;
		if (recorded_disk.events[index].kind == DISK_FLUSH)
			flushed = index;
	}
	for (size_t index = 0; index < flushed; index++)
		if (recorded_disk.events[index].kind == DISK_WRITE)
			apply(disk, &recorded_disk.events[index]);
	apply_unflushed(disk, flushed, point.end, loss, random);
	return point;
}
