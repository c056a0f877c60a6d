/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/directory/editor_split.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void hashed_entries_free(struct hashed_entries *hashed)
{
	free(hashed->entries);
	free(hashed->copied.bytes);
}

static int compare(const void *left, const void *right)
{
	const struct hashed_entry *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

errcode_t hashed_entries_read(const struct editor_names *names, struct entry_block entries,
                              struct hashed_entries *hashed)
{
	struct directory_record record = { 0 };

	*hashed = (struct hashed_entries){
		.entries = malloc(entries.byte_count / directory_entry_bytes(1) * sizeof(*hashed->entries)),
		.copied = { malloc(entries.byte_count), entries.byte_count },
	};
	if (!hashed->entries || !hashed->copied.bytes)
		return ENOMEM;
	memcpy(hashed->copied.bytes, entries.bytes, entries.byte_count);
	while (entry_block_next(hashed->copied, &record)) {
		struct editor_name name;

		if (!record.entry.ino)
			continue;
		errcode_t error = editor_name_hash(names, directory_record_name(&record), &name);

		if (error)
			return error;
		struct hashed_entry *entry = &hashed->entries[hashed->count++];

		*entry = (struct hashed_entry){
			name.hash,
			(uint32_t)record.offset,
			directory_entry_bytes(record.entry.name_bytes),
		};
		hashed->used_bytes += entry->bytes;
	}
	qsort(hashed->entries, hashed->count, sizeof(*hashed->entries), compare);
	return 0;
}

/* This goes from the end, as the kernel does, as long as the middle of an entry is in the block's upper half. */
uint32_t hashed_entries_half(const struct hashed_entries *hashed, uint32_t block_bytes)
{
	uint32_t half = hashed->count - 1, bytes = hashed->entries[half].bytes;

	while (half > 1 && bytes + hashed->entries[half - 1].bytes / 2 <= block_bytes / 2)
		bytes += hashed->entries[--half].bytes;
	return half;
}

void hashed_entries_pack(const struct hashed_entries *hashed, const struct ondisk_format *format, uint32_t from,
                         uint32_t end, struct entry_block entries)
{
	struct entry_packer packer = entry_packer_begin(format, entries);

	for (uint32_t i = from; i < end; i++) {
		struct directory_record record;
		bool is_there = directory_record_read(hashed->copied.bytes, hashed->copied.byte_count,
		                                      hashed->entries[i].offset, &record);

		is_there = is_there && entry_packer_put(format, &packer, directory_record_name(&record),
		                                        directory_record_target(&record));
		assert(is_there);
		(void)is_there;
	}
}
