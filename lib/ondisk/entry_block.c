/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/entry_block.h"

#include <string.h>

#include "ondisk/directory_parts.h"

#define LEAST_RECORD_BYTES 12 /* of a name of one byte; the kernel refuses shorter ones */

bool entry_block_is_sound(struct entry_block entries, uint32_t inode_count)
{
	struct directory_record record;

	for (size_t offset = 0; offset < entries.byte_count; offset += record.bytes) {
		if (!directory_record_read(entries.bytes, entries.byte_count, offset, &record) ||
		    record.bytes < LEAST_RECORD_BYTES || record.entry.ino > inode_count ||
		    record.bytes < directory_entry_bytes(record.entry.name_bytes) ||
		    (record.entry.ino && !record.entry.name_bytes))
			return false;
	}
	return true;
}

void entry_block_clear(const struct ondisk_format *format, struct entry_block entries)
{
	if (!entries.byte_count)
		return;
	memset(entries.bytes, 0, entries.byte_count);
	directory_entry_write(format, entries.bytes, entries.byte_count, (struct directory_name){ 0 },
	                      (struct directory_target){ 0 });
}

bool entry_block_next(struct entry_block entries, struct directory_record *record)
{
	return directory_record_read(entries.bytes, entries.byte_count, record->offset + record->bytes, record);
}

static bool is_dots(const struct directory_record *record, size_t count)
{
	return record->entry.ino && record->entry.name_bytes == count && memcmp(record->entry.name, "..", count) == 0;
}

bool entry_block_dots(struct entry_block entries, uint32_t ino, struct directory_record *parent)
{
	*parent = (struct directory_record){ 0 };
	return entry_block_next(entries, parent) && is_dots(parent, 1) && parent->entry.ino == ino &&
	       entry_block_next(entries, parent) && is_dots(parent, 2);
}

bool entry_block_find(const struct ondisk_format *format, struct entry_block entries, struct directory_name name,
                      bool is_casefolded, struct directory_record *record)
{
	*record = (struct directory_record){ 0 };
	while (entry_block_next(entries, record))
		if (record->entry.ino &&
		    directory_is_same_name(format, name, directory_record_name(record), is_casefolded))
			return true;
	return false;
}

bool entry_block_add(const struct ondisk_format *format, struct entry_block entries, struct directory_name name,
                     struct directory_target target)
{
	const size_t needed = directory_entry_bytes(name.length_bytes);
	struct directory_record record = { 0 };

	while (entry_block_next(entries, &record)) {
		uint8_t *at = entries.bytes + record.offset;
		size_t used = record.entry.ino ? directory_entry_bytes(record.entry.name_bytes) : 0;

		if (record.bytes - used < needed)
			continue;
		if (used)
			directory_record_resize(at, used);
		/* The name's padding may have bytes of an entry that was there before. */
		memset(at + used, 0, needed);
		directory_entry_write(format, at + used, record.bytes - used, name, target);
		return true;
	}
	return false;
}

struct entry_packer entry_packer_begin(const struct ondisk_format *format, struct entry_block entries)
{
	entry_block_clear(format, entries);
	return (struct entry_packer){ .entries = entries };
}

bool entry_packer_put(const struct ondisk_format *format, struct entry_packer *packer, struct directory_name name,
                      struct directory_target target)
{
	const size_t needed = directory_entry_bytes(name.length_bytes);
	const size_t left = packer->entries.byte_count - packer->used;

	if (needed > left)
		return false;
	if (packer->used)
		directory_record_resize(packer->entries.bytes + packer->last, packer->used - packer->last);
	directory_entry_write(format, packer->entries.bytes + packer->used, left, name, target);
	packer->last = packer->used;
	packer->used += needed;
	return true;
}

void entry_block_replace(const struct ondisk_format *format, struct entry_block entries,
                         const struct directory_record *record, struct directory_target target)
{
	directory_entry_point(format, entries.bytes + record->offset, target);
}

void entry_block_remove(struct entry_block entries, const struct directory_record *record)
{
	struct directory_record before = { 0 };
	uint8_t *at = entries.bytes + record->offset;

	if (!record->offset) {
		memset(at, 0, record->bytes);
		directory_record_resize(at, record->bytes);
		return;
	}
	while (entry_block_next(entries, &before) && before.offset + before.bytes < record->offset)
		;
	memset(at, 0, record->bytes);
	directory_record_resize(entries.bytes + before.offset, before.bytes + record->bytes);
}
