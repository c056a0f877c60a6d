/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/orphan_block.h"

#include <endian.h>
#include <string.h>

#include "support/crc32c.h"

_Static_assert(sizeof(struct ext4_orphan_block_tail) == 8, "the tail of an orphan block");

static uint32_t slots_bytes(const struct ondisk_format *format)
{
	return format->block_bytes - (uint32_t)sizeof(struct ext4_orphan_block_tail);
}

uint32_t orphan_block_slots(const struct ondisk_format *format)
{
	return slots_bytes(format) / (uint32_t)sizeof(uint32_t);
}

/* The checksum covers only the slots, not the tail. */
static uint32_t checksum_of(const struct ondisk_format *format, uint32_t file_seed, uint64_t physical_block,
                            const void *bytes)
{
	const uint64_t physical_le = htole64(physical_block);

	return crc32c(crc32c(file_seed, &physical_le, sizeof(physical_le)), bytes, slots_bytes(format));
}

enum orphan_block_state orphan_block_read(const struct ondisk_format *format, uint32_t file_seed,
                                          uint64_t physical_block, const void *bytes, uint32_t *slots)
{
	const uint32_t count = orphan_block_slots(format);
	struct ext4_orphan_block_tail tail;

	memcpy(&tail, (const uint8_t *)bytes + slots_bytes(format), sizeof(tail));
	if (le32toh(tail.ob_magic) != EXT4_ORPHAN_BLOCK_MAGIC)
		return ORPHAN_BLOCK_BAD_MAGIC;
	if (format->checksums && le32toh(tail.ob_checksum) != checksum_of(format, file_seed, physical_block, bytes))
		return ORPHAN_BLOCK_BAD_CHECKSUM;
	memcpy(slots, bytes, slots_bytes(format));
	for (uint32_t slot = 0; slot < count; slot++)
		slots[slot] = le32toh(slots[slot]);
	return ORPHAN_BLOCK_GOOD;
}

void orphan_block_write(const struct ondisk_format *format, uint32_t file_seed, uint64_t physical_block,
                        const uint32_t *slots, void *bytes)
{
	const uint32_t count = orphan_block_slots(format);
	struct ext4_orphan_block_tail tail = { .ob_magic = htole32(EXT4_ORPHAN_BLOCK_MAGIC) };

	for (uint32_t slot = 0; slot < count; slot++) {
		const uint32_t slot_le = htole32(slots[slot]);

		memcpy((uint8_t *)bytes + slot * sizeof(slot_le), &slot_le, sizeof(slot_le));
	}
	if (format->checksums)
		tail.ob_checksum = htole32(checksum_of(format, file_seed, physical_block, bytes));
	memcpy((uint8_t *)bytes + slots_bytes(format), &tail, sizeof(tail));
}
