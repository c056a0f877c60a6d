/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/iso.h"

#include <archive_entry.h>
#include <stdio.h>
#include <string.h>

#include "support/little_endian.h"

#define SECTOR_BYTES 2048u

/* Descriptors of volumes begin in this sector; those of UDF are among the first ones. */
#define FIRST_DESCRIPTOR 16u
#define DESCRIPTORS 32u

#define MOST_EXTENT_BYTES (UINT64_C(1) << 32)

void iso_mend_device(struct archive_entry *entry)
{
	uint64_t both = archive_entry_rdev(entry);

	/* No device of Linux has such a dev_t. */
	if (both < MOST_EXTENT_BYTES)
		return;
	archive_entry_set_rdevmajor(entry, (dev_t)(both >> 32));
	archive_entry_set_rdevminor(entry, (dev_t)(both & UINT32_MAX));
}

static errcode_t look_for_udf(const struct archive_input *input, bool *has_udf)
{
	char identifier[6];
	errcode_t error = 0;

	for (unsigned int n = 0; !error && !*has_udf && n < DESCRIPTORS; n++) {
		uint64_t at = (uint64_t)(FIRST_DESCRIPTOR + n) * SECTOR_BYTES;

		if (at + SECTOR_BYTES > input->end - input->start)
			break;
		error = archive_input_read_back(input, identifier, sizeof(identifier), input->start + at);
		*has_udf = !error && (!memcmp(identifier + 1, "NSR02", 5) || !memcmp(identifier + 1, "NSR03", 5));
	}
	return error;
}

errcode_t iso_note_contents(const struct archive_input *input, struct archive_entry *entry, struct iso_extents *extents,
                            bool *is_whole)
{
	uint64_t size = entry ? (uint64_t)archive_entry_size(entry) : 0;
	uint64_t at = entry ? archive_input_position(input) : input->end - input->start;
	errcode_t error = extents->is_known ? 0 : look_for_udf(input, &extents->has_udf);

	extents->is_known = true;
	/* Contents may be there twice. */
	*is_whole =
		error || !extents->has_udf || at < extents->end || at - extents->end < MOST_EXTENT_BYTES - SECTOR_BYTES;
	if (error || !entry || !size || !*is_whole)
		return error;
	extents->start = at;
	extents->end = at + size;
	snprintf(extents->name, sizeof(extents->name), "%s", archive_entry_pathname(entry));
	return 0;
}

#define DISK_SECTOR_BYTES 512u
#define MBR_ENTRIES_AT 446u
#define MBR_ENTRY_BYTES 16u
#define GPT_SIGNATURE "EFI PART"

/* The end of the disk's partitions; 0: it has none. begin: its first two sectors. */
static uint64_t find_partitions_end(const uint8_t *begin)
{
	const uint8_t *entry = begin + MBR_ENTRIES_AT, *gpt = begin + DISK_SECTOR_BYTES;
	const bool has_gpt = !memcmp(gpt, GPT_SIGNATURE, strlen(GPT_SIGNATURE));
	uint64_t last = has_gpt ? little_endian(gpt + 32, 8) + 1 : 0; /* the backup GPT is in the last sector */

	if (begin[510] != 0x55 || begin[511] != 0xaa)
		return 0;
	for (unsigned int n = 0; n < 4; n++, entry += MBR_ENTRY_BYTES) {
		uint64_t end = little_endian(entry + 8, 4) + little_endian(entry + 12, 4);

		last = end > last ? end : last;
	}
	return last < UINT64_MAX / DISK_SECTOR_BYTES ? last * DISK_SECTOR_BYTES : UINT64_MAX;
}

errcode_t iso_find_end(const struct archive_input *input, uint64_t *end)
{
	uint8_t bytes[2 * DISK_SECTOR_BYTES] = { 0 };
	errcode_t error = archive_input_read_back(input, bytes, sizeof(bytes), input->start);
	const uint64_t partitions = error ? 0 : find_partitions_end(bytes);

	uint64_t volume = 0;

	for (unsigned int n = 0; !error && !volume && n < DESCRIPTORS; n++) {
		uint64_t at = (uint64_t)(FIRST_DESCRIPTOR + n) * SECTOR_BYTES;

		if (at + SECTOR_BYTES > input->end - input->start)
			break;
		error = archive_input_read_back(input, bytes, sizeof(bytes), input->start + at);
		/* The primary descriptor. */
		if (!error && !memcmp(bytes, "\1CD001", 6))
			volume = little_endian(bytes + 80, 4) * SECTOR_BYTES;
	}
	*end = partitions > *end ? partitions : *end;
	*end = volume > *end ? volume : *end;
	return error;
}
