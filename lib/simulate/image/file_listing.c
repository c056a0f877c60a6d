// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate/image/file_listing.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static struct directory_name entry_name(const void *context, uint32_t entry)
{
	const struct file_listing *listing = context;
	const struct file_listing_entry *found = &listing->entries[entry];
	const char *name = found->set ? found->set->name : found->name;

	return (struct directory_name){ name, (uint8_t)strlen(name) };
}

static struct directory_target entry_target(const void *context, uint32_t entry)
{
	const struct file_listing *listing = context;
	const struct file_listing_entry *found = &listing->entries[entry];

	return (struct directory_target){ found->ino, found->set ? EXT2_FT_DIR : EXT2_FT_REG_FILE };
}

static int digits_of(size_t count)
{
	int digits = 1;

	for (; count > 10; count = (count + 9) / 10)
		digits++;
	return digits;
}

static void add(struct file_listing *listing, struct file_listing_entry entry)
{
	listing->entries[listing->count++] = entry;
}

errcode_t file_listing_open(const struct file_set *set, struct file_listing *listing)
{
	uint64_t count = set->count;
	int digits = digits_of(set->count);

	*listing = (struct file_listing){ 0 };
	for (const struct file_set *child = set->first; child; child = child->next)
		count++;
	if (count > UINT32_MAX)
		return EFBIG;
	listing->entries = calloc(count ? count : 1, sizeof(*listing->entries));
	if (!listing->entries)
		return ENOMEM;
	for (const struct file_set *child = set->first; child; child = child->next, listing->subdirectories++)
		add(listing, (struct file_listing_entry){ .set = child, .ino = child->directory.ino });
	for (size_t index = 0; index < set->count; index++) {
		struct file_listing_entry entry = { .ino = set->files[index].ino };

		if (!entry.ino)
			continue;
		snprintf(entry.name, sizeof(entry.name), "%0*" PRIu32, digits, (uint32_t)index);
		add(listing, entry);
	}
	return 0;
}

void file_listing_close(struct file_listing *listing)
{
	free(TAKE(listing->entries));
}

struct directory_source file_listing_source(const struct file_listing *listing)
{
	return (struct directory_source){
		.context = listing, .count = listing->count, .name = entry_name, .target = entry_target
	};
}
