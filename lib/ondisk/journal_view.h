/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading the blocks of a journal's log from untrusted bytes: headers, tags, commit blocks, revokes. Pure. Each block
 * has format->block_bytes. Fields as in the kernel's Documentation/filesystems/ext4/journal.rst.
 */
#pragma once

#include "ondisk/journal_block.h"

struct journal_header {
	uint32_t type; /* enum journal_block_type, or anything if damaged */
	uint32_t sequence;
};

/* Returns false if the block does not begin with the journal's magic number. */
MUST_CHECK bool journal_header_read(const void *bytes, struct journal_header *header);

/* Is a later than b? Sequences are 32 bits and begin again at 0. */
static inline bool journal_sequence_is_later(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* Checks the checksum at the end of a descriptor or a revoke block. True if the journal has none. */
bool journal_tail_is_good(const struct journal_format *format, const void *bytes);

/* Zero-initialise all but format and bytes. */
struct journal_tag_cursor {
	const struct journal_format *format;
	const void *bytes; /* a descriptor */
	uint32_t offset;
	bool is_over;
};

struct journal_tag_view {
	uint64_t block; /* its place in the filesystem */
	uint32_t checksum;
	bool is_escaped;
};

/* Reads the next tag; false after the one marked as the last, and if no other fits. */
MUST_CHECK bool journal_tags_next(struct journal_tag_cursor *cursor, struct journal_tag_view *tag);

/* Do contents, as in the log, fit the tag's checksum? True if the journal has none. */
bool journal_contents_are_good(const struct journal_format *format, uint32_t sequence,
                               const struct journal_tag_view *tag, const void *contents);

/* A commit block's checksum of the first kind (JOURNAL_COMPAT_CHECKSUM), and its time. */
struct journal_commit {
	uint8_t checksum_type; /* 1: crc32, big-endian */
	uint8_t checksum_bytes;
	uint32_t checksum;
	uint64_t seconds;
};

void journal_commit_read(const void *bytes, struct journal_commit *commit);

/*
 * Checks the commit block's own checksum, of versions 2 and 3. True if the journal has none. As in the kernel,
 * what follows the header may be anything: a power cut can leave the first sector of a commit block alone. The
 * header says all, and is written after the blocks that it commits.
 */
bool journal_commit_is_good(const struct journal_format *format, const void *bytes);

/*
 * The first kind of checksum: begin with UINT32_MAX and continue over each descriptor of a transaction and the blocks
 * after it, as the log has them. Revokes are left out.
 */
uint32_t journal_transaction_checksum(uint32_t checksum, const void *bytes, uint32_t block_bytes);

/* Does that fit the commit block, or does this have none, as commits of a kernel without the option? */
bool journal_transaction_is_good(const struct journal_commit *commit, uint32_t checksum);

/* Counts the blocks in a revoke block. False: its count exceeds the block. */
MUST_CHECK bool journal_revokes_count(const struct journal_format *format, const void *bytes, uint32_t *count);

/* Returns the revoked block of this index, which is below the count. */
uint64_t journal_revokes_get(const struct journal_format *format, const void *bytes, uint32_t index);

/*
 * Does the fast-commit area, whose first block this is, begin with a fast commit that follows the transaction before
 * sequence? Older ones stay there until they are overwritten. Fields as in fs/ext4/fast_commit.h, little-endian.
 */
bool journal_fast_commit_follows(const void *bytes, uint32_t block_bytes, uint32_t sequence);
