/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blocks of a jbd2 journal: its superblock, the descriptor that says where the blocks after it belong, and the commit
 * block that makes them count. All of it is big-endian.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

#define JOURNAL_SUPERBLOCK_BYTES 1024

#define JOURNAL_COMPAT_CHECKSUM 0x1u /* the first kind, one for a whole transaction */
#define JOURNAL_INCOMPAT_REVOKE 0x1u
#define JOURNAL_INCOMPAT_64BIT 0x2u
#define JOURNAL_INCOMPAT_ASYNC_COMMIT 0x4u
#define JOURNAL_INCOMPAT_CSUM_V2 0x8u
#define JOURNAL_INCOMPAT_CSUM_V3 0x10u
#define JOURNAL_INCOMPAT_FAST_COMMIT 0x20u
#define JOURNAL_INCOMPAT_KNOWN                                                                                         \
	(JOURNAL_INCOMPAT_REVOKE | JOURNAL_INCOMPAT_64BIT | JOURNAL_INCOMPAT_ASYNC_COMMIT | JOURNAL_INCOMPAT_CSUM_V2 | \
	 JOURNAL_INCOMPAT_CSUM_V3 | JOURNAL_INCOMPAT_FAST_COMMIT)

/* What a block of the journal is, as its header says. */
enum journal_block_type {
	JOURNAL_DESCRIPTOR = 1,
	JOURNAL_COMMIT = 2,
	JOURNAL_SUPERBLOCK_V1 = 3,
	JOURNAL_SUPERBLOCK_V2 = 4,
	JOURNAL_REVOKE = 5,
};

/* The fields of the journal's superblock that a writer needs, in host order. */
struct journal_superblock {
	uint32_t version; /* 1 has no features */
	uint32_t block_bytes;
	uint32_t blocks;   /* of the whole journal, its superblock and the fast-commit area among them */
	uint32_t first;    /* the log's first block */
	uint32_t sequence; /* tid of the first transaction in the log, or, if it is empty, at least of the last one */
	uint32_t start;    /* where the log begins; 0: it is empty */
	uint32_t compat, incompat, ro_compat;
	uint32_t fast_commit_blocks; /* at the end, nothing else may be there */
	uint8_t uuid[16];
};

enum journal_superblock_state {
	JOURNAL_SUPERBLOCK_GOOD,
	JOURNAL_SUPERBLOCK_BAD_MAGIC,
	JOURNAL_SUPERBLOCK_BAD_CHECKSUM,
	JOURNAL_SUPERBLOCK_BAD_VALUES,       /* lengths that contradict one another, both versions of checksums */
	JOURNAL_SUPERBLOCK_UNKNOWN_FEATURES, /* that jbd2 of Linux 6.17 does not have */
};

/* Reads the JOURNAL_SUPERBLOCK_BYTES at bytes. After bad magic *super is not set. */
MUST_CHECK enum journal_superblock_state journal_superblock_read(const void *bytes, struct journal_superblock *super);

/* Puts sequence, start and the features into the superblock at bytes, and its checksum; all else stays as it is. */
void journal_superblock_update(void *bytes, const struct journal_superblock *super);

/* What the log's blocks look like. */
struct journal_format {
	uint32_t block_bytes;
	bool has_64bit;
	unsigned int checksum_version; /* 0: none, 2 or 3 */
	uint32_t checksum_seed;
};

struct journal_format journal_format_of(const struct journal_superblock *super);

/* The first block after those that the log may use. */
uint32_t journal_log_end(const struct journal_superblock *super);

/* A block of the log. */
struct journal_tag {
	uint64_t block;       /* where it belongs in the filesystem */
	const void *contents; /* as the log has them: escaped, if they had to be */
	bool is_escaped;
};

/* How many tags a descriptor block holds: 60 to 4000. */
uint32_t journal_descriptor_tags(const struct journal_format *format);

/* Blocks that a transaction of so many tags takes in the log: descriptors, contents, the commit block. */
uint64_t journal_transaction_blocks(const struct journal_format *format, uint64_t tags);

/*
 * Blocks that begin with the journal's magic number would be taken for the journal's own. True: they are escaped now.
 */
bool journal_escape(void *contents);

/* Turns that back. */
void journal_unescape(void *contents);

/* Makes a whole descriptor block of count tags, at least one and no more than fit. */
void journal_descriptor_write(const struct journal_format *format, uint32_t sequence, const struct journal_tag *tags,
                              uint32_t count, void *bytes);

/* Makes a whole commit block. */
void journal_commit_write(const struct journal_format *format, uint32_t sequence, uint64_t seconds,
                          uint32_t nanoseconds, void *bytes);
