/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/journal_view.h"

#include <stdlib.h>

#include <ext2fs/ext2fs.h>

#include "ondisk/journal_parts.h"
#include "support/cleanup.h"
#include "support/crc32c.h"

#define CHECKSUM_TYPE_CRC32 1
#define REVOKE_COUNT 12
#define REVOKE_HEADER_BYTES 16
#define FAST_COMMIT_HEAD 9       /* the first tag of each area */
#define FAST_COMMIT_HEAD_BYTES 8 /* features, sequence; after 4 bytes with tag and length */

bool journal_header_read(const void *bytes, struct journal_header *header)
{
	if (journal_get32(bytes, HEADER_MAGIC) != JOURNAL_MAGIC)
		return false;
	header->type = journal_get32(bytes, HEADER_TYPE);
	header->sequence = journal_get32(bytes, HEADER_SEQUENCE);
	return true;
}

/* Checks a whole block, with zeros in the checksum's place. */
static bool block_is_good(const struct journal_format *format, const void *bytes, uint32_t checksum_offset)
{
	static const uint8_t zeros[4];
	const uint8_t *rest = (const uint8_t *)bytes + checksum_offset + sizeof(zeros);
	uint32_t checksum = crc32c(format->checksum_seed, bytes, checksum_offset);

	checksum = crc32c(checksum, zeros, sizeof(zeros));
	checksum = crc32c(checksum, rest, format->block_bytes - checksum_offset - sizeof(zeros));
	return checksum == journal_get32(bytes, checksum_offset);
}

bool journal_tail_is_good(const struct journal_format *format, const void *bytes)
{
	return !format->checksum_version ||
	       block_is_good(format, bytes, format->block_bytes - journal_tail_bytes(format));
}

bool journal_tags_next(struct journal_tag_cursor *cursor, struct journal_tag_view *tag)
{
	const struct journal_format *format = cursor->format;
	uint32_t bytes = journal_tag_bytes(format), end = format->block_bytes - journal_tail_bytes(format);
	uint32_t offset = cursor->offset ? cursor->offset : HEADER_BYTES;

	if (cursor->is_over || offset + bytes > end)
		return false;
	const uint8_t *at = (const uint8_t *)cursor->bytes + offset;
	bool is_version3 = format->checksum_version == 3;
	/* Version 3 has 32 bits of flags, of which these are the lower half. */
	uint16_t flags = journal_get16(at, 6);

	tag->block = journal_get32(at, 0);
	if (format->has_64bit)
		tag->block |= (uint64_t)journal_get32(at, 8) << 32;
	tag->checksum = is_version3 ? journal_get32(at, 12) : journal_get16(at, 4);
	tag->is_escaped = flags & JOURNAL_TAG_ESCAPED;
	cursor->offset = offset + bytes + (flags & JOURNAL_TAG_SAME_UUID ? 0 : JOURNAL_UUID_BYTES);
	cursor->is_over = flags & JOURNAL_TAG_LAST;
	return true;
}

bool journal_contents_are_good(const struct journal_format *format, uint32_t sequence,
                               const struct journal_tag_view *tag, const void *contents)
{
	if (!format->checksum_version)
		return true;
	uint32_t checksum = journal_contents_checksum(format, sequence, contents);

	return (format->checksum_version == 3 ? checksum : (uint16_t)checksum) == tag->checksum;
}

void journal_commit_read(const void *bytes, struct journal_commit *commit)
{
	*commit = (struct journal_commit){
		.checksum_type = ((const uint8_t *)bytes)[COMMIT_CHECKSUM_TYPE],
		.checksum_bytes = ((const uint8_t *)bytes)[COMMIT_CHECKSUM_BYTES],
		.checksum = journal_get32(bytes, COMMIT_CHECKSUM),
		.seconds =
			(uint64_t)journal_get32(bytes, COMMIT_SECONDS) << 32 | journal_get32(bytes, COMMIT_SECONDS + 4),
	};
}

/* Checks a commit block as if only its header had reached the disk, over a block of zeros. */
static bool commit_header_is_good(const struct journal_format *format, const void *bytes)
{
	SCOPE_FREE uint8_t *block = calloc(1, format->block_bytes);

	if (!block)
		return false;
	memcpy(block, bytes, COMMIT_HEADER_BYTES);
	return block_is_good(format, block, COMMIT_CHECKSUM);
}

bool journal_commit_is_good(const struct journal_format *format, const void *bytes)
{
	return !format->checksum_version || block_is_good(format, bytes, COMMIT_CHECKSUM) ||
	       commit_header_is_good(format, bytes);
}

uint32_t journal_transaction_checksum(uint32_t checksum, const void *bytes, uint32_t block_bytes)
{
	return ext2fs_crc32_be(checksum, bytes, block_bytes);
}

bool journal_transaction_is_good(const struct journal_commit *commit, uint32_t checksum)
{
	if (!commit->checksum_type && !commit->checksum_bytes && !commit->checksum)
		return true;
	return commit->checksum_type == CHECKSUM_TYPE_CRC32 && commit->checksum_bytes == sizeof(uint32_t) &&
	       commit->checksum == checksum;
}

static uint32_t revoke_bytes(const struct journal_format *format)
{
	return format->has_64bit ? 8 : 4;
}

/* The count is in bytes, with the header's. */
bool journal_revokes_count(const struct journal_format *format, const void *bytes, uint32_t *count)
{
	uint32_t used = journal_get32(bytes, REVOKE_COUNT);

	if (used > format->block_bytes - journal_tail_bytes(format))
		return false;
	*count = used < REVOKE_HEADER_BYTES ? 0 : (used - REVOKE_HEADER_BYTES) / revoke_bytes(format);
	return true;
}

uint64_t journal_revokes_get(const struct journal_format *format, const void *bytes, uint32_t index)
{
	size_t offset = REVOKE_HEADER_BYTES + (size_t)index * revoke_bytes(format);

	if (!format->has_64bit)
		return journal_get32(bytes, offset);
	return (uint64_t)journal_get32(bytes, offset) << 32 | journal_get32(bytes, offset + 4);
}

bool journal_fast_commit_follows(const void *bytes, uint32_t block_bytes, uint32_t sequence)
{
	struct {
		uint16_t tag, bytes;
		uint32_t features, sequence;
	} head;

	if (block_bytes < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	return le16toh(head.tag) == FAST_COMMIT_HEAD && le16toh(head.bytes) >= FAST_COMMIT_HEAD_BYTES &&
	       le32toh(head.sequence) == sequence;
}
