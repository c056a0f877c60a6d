/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/journal_block.h"

#include "ondisk/journal_parts.h"
#include "support/crc32c.h"

#define DEFAULT_FAST_COMMIT_BLOCKS 256

/* Offsets of fields in bytes. */
enum superblock_field {
	SUPER_BLOCK_BYTES = 12,
	SUPER_BLOCKS = 16,
	SUPER_FIRST = 20,
	SUPER_SEQUENCE = 24,
	SUPER_START = 28,
	SUPER_ERROR = 32,
	SUPER_COMPAT = 36,
	SUPER_INCOMPAT = 40,
	SUPER_RO_COMPAT = 44,
	SUPER_UUID = 48,
	SUPER_CHECKSUM_TYPE = 80,
	SUPER_FAST_COMMIT_BLOCKS = 84,
	SUPER_CHECKSUM = 252,
};

/* crc32c's number in superblocks of ext4 and jbd2; other kinds were never used with checksums v2 and v3. */
#define CHECKSUM_TYPE_CRC32C 4

static void put16(void *bytes, size_t offset, uint16_t value)
{
	value = htobe16(value);
	memcpy((uint8_t *)bytes + offset, &value, sizeof(value));
}

static void put32(void *bytes, size_t offset, uint32_t value)
{
	value = htobe32(value);
	memcpy((uint8_t *)bytes + offset, &value, sizeof(value));
}

static void put_header(void *bytes, enum journal_block_type type, uint32_t sequence)
{
	put32(bytes, HEADER_MAGIC, JOURNAL_MAGIC);
	put32(bytes, HEADER_TYPE, type);
	put32(bytes, HEADER_SEQUENCE, sequence);
}

static bool has_checksums(uint32_t incompat)
{
	return incompat & (JOURNAL_INCOMPAT_CSUM_V2 | JOURNAL_INCOMPAT_CSUM_V3);
}

/* The checksum of all of it, with zeros in the checksum's place. */
static uint32_t superblock_checksum(const void *bytes)
{
	uint8_t copy[JOURNAL_SUPERBLOCK_BYTES];

	memcpy(copy, bytes, sizeof(copy));
	put32(copy, SUPER_CHECKSUM, 0);
	return crc32c(UINT32_MAX, copy, sizeof(copy));
}

static bool lengths_are_valid(const struct journal_superblock *super)
{
	return super->first >= 1 && super->first < super->blocks && super->fast_commit_blocks < super->blocks &&
	       super->first < journal_log_end(super) && super->start < super->blocks;
}

enum journal_superblock_state journal_superblock_read(const void *bytes, struct journal_superblock *super)
{
	uint32_t type = journal_get32(bytes, HEADER_TYPE);

	if (journal_get32(bytes, HEADER_MAGIC) != JOURNAL_MAGIC ||
	    (type != JOURNAL_SUPERBLOCK_V1 && type != JOURNAL_SUPERBLOCK_V2))
		return JOURNAL_SUPERBLOCK_BAD_MAGIC;
	*super = (struct journal_superblock){
		.version = type == JOURNAL_SUPERBLOCK_V2 ? 2 : 1,
		.block_bytes = journal_get32(bytes, SUPER_BLOCK_BYTES),
		.blocks = journal_get32(bytes, SUPER_BLOCKS),
		.first = journal_get32(bytes, SUPER_FIRST),
		.sequence = journal_get32(bytes, SUPER_SEQUENCE),
		.start = journal_get32(bytes, SUPER_START),
		.error = (int32_t)journal_get32(bytes, SUPER_ERROR),
	};
	if (type == JOURNAL_SUPERBLOCK_V2) {
		super->compat = journal_get32(bytes, SUPER_COMPAT);
		super->incompat = journal_get32(bytes, SUPER_INCOMPAT);
		super->ro_compat = journal_get32(bytes, SUPER_RO_COMPAT);
		super->fast_commit_blocks = journal_get32(bytes, SUPER_FAST_COMMIT_BLOCKS);
		memcpy(super->uuid, (const uint8_t *)bytes + SUPER_UUID, sizeof(super->uuid));
	}
	/* mke2fs sets their number, and the kernel sets the feature at the first mount. */
	if (super->incompat & JOURNAL_INCOMPAT_FAST_COMMIT && !super->fast_commit_blocks)
		super->fast_commit_blocks = DEFAULT_FAST_COMMIT_BLOCKS;
	if ((super->incompat & ~JOURNAL_INCOMPAT_KNOWN) || (super->compat & ~JOURNAL_COMPAT_CHECKSUM) ||
	    super->ro_compat)
		return JOURNAL_SUPERBLOCK_UNKNOWN_FEATURES;
	if (has_checksums(super->incompat)) {
		if (((const uint8_t *)bytes)[SUPER_CHECKSUM_TYPE] != CHECKSUM_TYPE_CRC32C)
			return JOURNAL_SUPERBLOCK_UNKNOWN_FEATURES;
		if (journal_get32(bytes, SUPER_CHECKSUM) != superblock_checksum(bytes))
			return JOURNAL_SUPERBLOCK_BAD_CHECKSUM;
	}
	if ((super->incompat & JOURNAL_INCOMPAT_CSUM_V2) && (super->incompat & JOURNAL_INCOMPAT_CSUM_V3))
		return JOURNAL_SUPERBLOCK_BAD_VALUES;
	return lengths_are_valid(super) ? JOURNAL_SUPERBLOCK_GOOD : JOURNAL_SUPERBLOCK_BAD_VALUES;
}

void journal_superblock_update(void *bytes, const struct journal_superblock *super)
{
	put32(bytes, SUPER_SEQUENCE, super->sequence);
	put32(bytes, SUPER_START, super->start);
	put32(bytes, SUPER_ERROR, (uint32_t)super->error);
	if (super->version < 2)
		return;
	put32(bytes, SUPER_COMPAT, super->compat);
	put32(bytes, SUPER_INCOMPAT, super->incompat);
	put32(bytes, SUPER_RO_COMPAT, super->ro_compat);
	if (!has_checksums(super->incompat))
		return;
	((uint8_t *)bytes)[SUPER_CHECKSUM_TYPE] = CHECKSUM_TYPE_CRC32C;
	put32(bytes, SUPER_CHECKSUM, superblock_checksum(bytes));
}

struct journal_format journal_format_of(const struct journal_superblock *super)
{
	return (struct journal_format){
		.block_bytes = super->block_bytes,
		.has_64bit = super->incompat & JOURNAL_INCOMPAT_64BIT,
		.checksum_version = super->incompat & JOURNAL_INCOMPAT_CSUM_V3 ? 3 :
		                    super->incompat & JOURNAL_INCOMPAT_CSUM_V2 ? 2 :
		                                                                 0,
		.checksum_seed = crc32c(UINT32_MAX, super->uuid, sizeof(super->uuid)),
	};
}

uint32_t journal_log_end(const struct journal_superblock *super)
{
	return super->blocks - super->fast_commit_blocks;
}

/*
 * The same number as in jbd2: a UUID follows the first tag, and jbd2 leaves room for another one after the last.
 */
uint32_t journal_descriptor_tags(const struct journal_format *format)
{
	return (format->block_bytes - HEADER_BYTES - 2 * JOURNAL_UUID_BYTES - journal_tail_bytes(format)) /
	       journal_tag_bytes(format);
}

uint64_t journal_transaction_blocks(const struct journal_format *format, uint64_t tags)
{
	uint32_t each = journal_descriptor_tags(format);

	return tags + (tags + each - 1) / each + 1;
}

bool journal_escape(void *contents)
{
	if (journal_get32(contents, 0) != JOURNAL_MAGIC)
		return false;
	put32(contents, 0, 0);
	return true;
}

void journal_unescape(void *contents)
{
	put32(contents, 0, JOURNAL_MAGIC);
}

uint32_t journal_contents_checksum(const struct journal_format *format, uint32_t sequence, const void *contents)
{
	uint32_t sequence_be = htobe32(sequence);

	return crc32c(crc32c(format->checksum_seed, &sequence_be, sizeof(sequence_be)), contents, format->block_bytes);
}

static void put_tag(const struct journal_format *format, uint32_t sequence, const struct journal_tag *tag,
                    uint16_t flags, uint8_t *at)
{
	uint32_t checksum = format->checksum_version ? journal_contents_checksum(format, sequence, tag->contents) : 0;

	put32(at, 0, (uint32_t)tag->block);
	if (format->checksum_version == 3) {
		put32(at, 4, flags);
		put32(at, 8, format->has_64bit ? (uint32_t)(tag->block >> 32) : 0);
		put32(at, 12, checksum);
		return;
	}
	put16(at, 4, (uint16_t)checksum);
	put16(at, 6, flags);
	if (format->has_64bit)
		put32(at, 8, (uint32_t)(tag->block >> 32));
}

void journal_descriptor_write(const struct journal_format *format, uint32_t sequence, const struct journal_tag *tags,
                              uint32_t count, void *bytes)
{
	uint8_t *at = (uint8_t *)bytes + HEADER_BYTES;

	memset(bytes, 0, format->block_bytes);
	put_header(bytes, JOURNAL_DESCRIPTOR, sequence);
	for (uint32_t index = 0; index < count; index++) {
		uint16_t flags = (index ? JOURNAL_TAG_SAME_UUID : 0) | (index + 1 == count ? JOURNAL_TAG_LAST : 0) |
		                 (tags[index].is_escaped ? JOURNAL_TAG_ESCAPED : 0);

		put_tag(format, sequence, &tags[index], flags, at);
		at += journal_tag_bytes(format);
		/* jbd2's UUID is always zero: it is meant for journals that filesystems share. */
		if (!index)
			at += JOURNAL_UUID_BYTES;
	}
	if (format->checksum_version)
		put32(bytes, format->block_bytes - journal_tail_bytes(format),
		      crc32c(format->checksum_seed, bytes, format->block_bytes));
}

void journal_commit_write(const struct journal_format *format, uint32_t sequence, uint64_t seconds,
                          uint32_t nanoseconds, void *bytes)
{
	memset(bytes, 0, format->block_bytes);
	put_header(bytes, JOURNAL_COMMIT, sequence);
	put32(bytes, COMMIT_SECONDS, (uint32_t)(seconds >> 32));
	put32(bytes, COMMIT_SECONDS + 4, (uint32_t)seconds);
	put32(bytes, COMMIT_NANOSECONDS, nanoseconds);
	if (format->checksum_version)
		put32(bytes, COMMIT_CHECKSUM, crc32c(format->checksum_seed, bytes, format->block_bytes));
}
