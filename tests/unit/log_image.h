/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An image in memory that has nothing but a journal, which lies in three pieces: its superblock and a log that tests
 * write block by block. There is one of each kind: without checksums, with the first, second and third version, block
 * numbers of 32 and of 64 bits.
 */
#pragma once

#include "journal/journal_overlay.h"
#include "ondisk/journal_block.h"

#define LOG_KINDS 8
#define LOG_BLOCK_BYTES 1024
#define LOG_JOURNAL_BLOCKS 24 /* its superblock, and the log */
#define LOG_IMAGE_BLOCKS 64

struct log_image {
	struct journal_source source;
	struct journal_superblock super; /* what log_image_finish() writes */
	struct journal_format format;
	uint32_t at;                   /* the journal's block that is written next */
	uint32_t sequence;             /* of the next block */
	uint64_t seconds;              /* the time of the next commit */
	uint32_t transaction_checksum; /* of the first kind */
	unsigned int reads, fail_at;   /* the read with this number, from 1 on, fails */
	struct journal_range ranges[3];
	uint8_t bytes[LOG_IMAGE_BLOCKS * LOG_BLOCK_BYTES];
};

/* Contents of a block: all its bytes are fill, but for the magic number of the journal at its beginning if it has that.
 */
struct log_tag {
	uint64_t block;
	uint8_t fill;
	bool has_magic;
};

/* A journal of this kind (below LOG_KINDS) whose log begins at block start with transaction 7. Nothing to be freed. */
void log_image_start(struct log_image *image, unsigned int kind, uint32_t start);

/* The bytes of one of the journal's blocks. */
uint8_t *log_image_block(struct log_image *image, uint32_t logical);

/* Add parts of a transaction. Blocks follow one another, and the log's first block follows its last one. */
void log_image_descriptor(struct log_image *image, const struct log_tag *tags, uint32_t count);
void log_image_revokes(struct log_image *image, const uint64_t *blocks, uint32_t count);
void log_image_commit(struct log_image *image);

/* A descriptor, contents and the commit block. */
void log_image_transaction(struct log_image *image, const struct log_tag *tags, uint32_t count);

/* Writes the superblock; checksums it if it has any. */
void log_image_finish(struct log_image *image);

/* Updates the checksum of a changed descriptor or revoke block. */
void log_image_seal_tail(struct log_image *image, uint32_t logical);
