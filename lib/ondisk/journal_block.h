/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blocks of a jbd2 journal: its superblock, the descriptor with the places of the blocks after it, and the commit
 * block that makes them valid. All of it is big-endian.
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

/* The type of a journal block, in its header. */
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
	uint32_t blocks;   /* of the whole journal, with its superblock and the fast-commit area */
	uint32_t first;    /* the log's first block */
	uint32_t sequence; /* tid of the first transaction in the log; if it is empty, at least that of the last one */
	uint32_t start;    /* the first block of the log; 0: empty */
	int32_t error;     /* why the kernel aborted the journal, as a negative errno value; 0: it did not */
	uint32_t compat, incompat, ro_compat;
	uint32_t fast_commit_blocks; /* at the end of the journal */
	uint8_t uuid[16];
};

enum journal_superblock_state {
	JOURNAL_SUPERBLOCK_GOOD,
	JOURNAL_SUPERBLOCK_BAD_MAGIC,
	JOURNAL_SUPERBLOCK_BAD_CHECKSUM,
	JOURNAL_SUPERBLOCK_BAD_VALUES,       /* contradictory lengths, or both versions of checksums */
	JOURNAL_SUPERBLOCK_UNKNOWN_FEATURES, /* unknown to jbd2 of Linux 6.17 */
};

/* Reads the JOURNAL_SUPERBLOCK_BYTES at bytes. With a bad magic number *super is not set. */
MUST_CHECK enum journal_superblock_state journal_superblock_read(const void *bytes, struct journal_superblock *super);

/* Writes sequence, start, error, the features and the checksum into the superblock at bytes; other fields stay. */
void journal_superblock_update(void *bytes, const struct journal_superblock *super);

/* The format of the log's blocks. */
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
	uint64_t block;       /* its place in the filesystem */
	const void *contents; /* as in the log: escaped if necessary */
	bool is_escaped;
};

/* The number of tags in a descriptor block: 60 to 4000. */
uint32_t journal_descriptor_tags(const struct journal_format *format);

/* The number of log blocks of a transaction with this many tags: descriptors, contents, the commit block. */
uint64_t journal_transaction_blocks(const struct journal_format *format, uint64_t tags);

/*
 * Escapes contents that begin with the journal's magic number, because they would be taken for the journal's own.
 * Returns whether they did.
 */
bool journal_escape(void *contents);

/* Undoes that. */
void journal_unescape(void *contents);

/* Makes a whole descriptor block of count tags, at least one and at most as many as fit. */
void journal_descriptor_write(const struct journal_format *format, uint32_t sequence, const struct journal_tag *tags,
                              uint32_t count, void *bytes);

/* Makes a whole commit block. */
void journal_commit_write(const struct journal_format *format, uint32_t sequence, uint64_t seconds,
                          uint32_t nanoseconds, void *bytes);
