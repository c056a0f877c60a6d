/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/block_bitmaps.h"

#include <string.h>

#include "support/bits.h"

struct bitmaps {
	const struct volume *volume;
	uint64_t *buffer;
	block_bitmap_function function;
	void *context;
};

static void show(const struct bitmaps *bitmaps, uint32_t group, const uint64_t *bits, const char *wrong)
{
	bitmaps->function(bitmaps->context, &(struct block_bitmap){ group, bits, wrong });
}

/* Makes the bitmap of a group whose bitmap was never written: only the filesystem's own metadata is in use. */
static void make_bitmap(const struct volume *volume, uint32_t number, uint64_t *bitmap)
{
	memset(bitmap, 0, volume->format.block_bytes);
	for (struct zone_walk walk = { 0 }; fs_zones_next(&volume->zones, &volume->geometry, number, &walk);)
		bits_set_range(bitmap, walk.from, walk.end);
}

/* Returns how many groups, from this one on, have bitmaps that lie side by side on disk. */
static uint32_t side_by_side(const struct volume *volume, uint32_t number, uint32_t end)
{
	const struct volume_group *group = volume->group;
	uint32_t next = number;

	while (next < end && group[next].block_bitmap && !group[next].is_uninitialised && !group[next].is_doubtful &&
	       group[next].block_bitmap == group[number].block_bitmap + (next - number))
		next++;
	return next - number;
}

/* Returns how bitmap and descriptor differ; NULL if they agree. */
static const char *difference(const struct volume *volume, uint32_t number, bool has_its_checksum,
                              const uint64_t *bitmap)
{
	uint32_t clusters = geometry_group_clusters(&volume->geometry, number);

	if (!has_its_checksum)
		return "its block bitmap differs from its checksum";
	if (clusters - bits_count(bitmap, 0, clusters) != volume->group[number].free_clusters)
		return "its block bitmap differs from its count of free blocks";
	for (struct zone_walk walk = { 0 }; fs_zones_next(&volume->zones, &volume->geometry, number, &walk);)
		if (bits_next_zero(bitmap, walk.from, walk.end) != walk.end)
			return "its block bitmap has the filesystem's own blocks as free";
	return NULL;
}

/* Reads the bitmaps of count groups at once, or one by one if that fails. */
static void read_groups(const struct bitmaps *bitmaps, uint32_t number, uint32_t count)
{
	const struct volume *volume = bitmaps->volume;
	size_t words = volume->format.block_bytes / sizeof(uint64_t);
	errcode_t error = volume_read(volume, volume->group[number].block_bitmap, count, bitmaps->buffer);

	if (error && count > 1) {
		for (uint32_t n = 0; n < count; n++)
			read_groups(bitmaps, number + n, 1);
		return;
	}
	if (error) {
		show(bitmaps, number, NULL, "its block bitmap cannot be read");
		return;
	}
	for (uint32_t n = 0; n < count; n++) {
		uint64_t *bits = bitmaps->buffer + n * words;
		bool has_its_checksum = volume_bitmap_fits(volume, number + n, bits);

		bits_from_disk(bits, words);
		show(bitmaps, number + n, bits, difference(volume, number + n, has_its_checksum, bits));
	}
}

void block_bitmaps_read(const struct volume *volume, uint32_t first, uint32_t end, uint64_t *buffer,
                        block_bitmap_function function, void *context)
{
	const struct bitmaps bitmaps = { volume, buffer, function, context };

	while (first < end) {
		const struct volume_group *group = &volume->group[first];
		uint32_t count = side_by_side(volume, first, end);

		if (count) {
			read_groups(&bitmaps, first, count);
			first += count;
			continue;
		}
		if (group->is_doubtful) {
			show(&bitmaps, first, NULL, NULL);
		} else if (group->is_uninitialised) {
			make_bitmap(volume, first, buffer);
			show(&bitmaps, first, buffer, difference(volume, first, true, buffer));
		} else {
			show(&bitmaps, first, NULL, "its block bitmap cannot be read");
		}
		first++;
	}
}
