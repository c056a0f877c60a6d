/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading the blocks of a journal's log from untrusted bytes: headers, tags, commit blocks, revokes. Pure. Each block
 * has format->block_bytes. Fields as in the kernel's Documentation/filesystems/ext4/journal.rst.
 */
#pragma once

#include "ondisk/journal_block.h"

struct journal_header {
	uint32_t type; /* enum journal_block_type, or what damage says */
	uint32_t sequence;
};

/* False: the block does not begin with the journal's magic number. */
MUST_CHECK bool journal_header_read(const void *bytes, struct journal_header *header);

/* Is a later than b? Sequences are 32 bits and begin again at 0. */
static inline bool journal_sequence_is_later(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* The checksum at the end of a descriptor or of a block of revokes. True where the journal has none. */
bool journal_tail_is_good(const struct journal_format *format, const void *bytes);

/* Begin with zeros but for format and bytes. */
struct journal_tag_cursor {
	const struct journal_format *format;
	const void *bytes; /* a descriptor */
	uint32_t offset;
	bool is_over;
};

struct journal_tag_view {
	uint64_t block; /* where it belongs in the filesystem */
	uint32_t checksum;
	bool is_escaped;
};

/* The next tag; false after the one that says it is the last, and where no other one fits. */
MUST_CHECK bool journal_tags_next(struct journal_tag_cursor *cursor, struct journal_tag_view *tag);

/* Are these the contents, as the log has them, that the tag's checksum is of? True where the journal has none. */
bool journal_contents_are_good(const struct journal_format *format, uint32_t sequence,
                               const struct journal_tag_view *tag, const void *contents);

/* What a commit block says of the first kind of checksum (JOURNAL_COMPAT_CHECKSUM) and of the time. */
struct journal_commit {
	uint8_t checksum_type; /* 1: crc32, big-endian */
	uint8_t checksum_bytes;
	uint32_t checksum;
	uint64_t seconds;
};

void journal_commit_read(const void *bytes, struct journal_commit *commit);

/* Its own checksum, of versions 2 and 3. True where the journal has none. */
bool journal_commit_is_good(const struct journal_format *format, const void *bytes);

/*
 * The first kind of checksum: begin with UINT32_MAX and continue over each descriptor of a transaction and the blocks
 * after it, as the log has them. Revokes are left out.
 */
uint32_t journal_transaction_checksum(uint32_t checksum, const void *bytes, uint32_t block_bytes);

/* Is that what the commit block says, or does it say nothing, as commits of a kernel without the option do? */
bool journal_transaction_is_good(const struct journal_commit *commit, uint32_t checksum);

/* How many blocks a block of revokes names. False: it claims more bytes than it has. */
MUST_CHECK bool journal_revokes_count(const struct journal_format *format, const void *bytes, uint32_t *count);

/* The block that revoke number index says is revoked; index is below the count. */
uint64_t journal_revokes_get(const struct journal_format *format, const void *bytes, uint32_t index);

/*
 * Does the fast-commit area, whose first used block this is, begin with a fast commit that follows the transaction
 * before sequence? Older ones stay there until they are overwritten. Fields as in fs/ext4/fast_commit.h, little-endian.
 */
bool journal_fast_commit_follows(const void *bytes, uint32_t block_bytes, uint32_t sequence);
