/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journals, as the overlay reads them. An input has four bytes (incompat features; compat features, and the version of
 * the superblock; where the log begins; sequence) and then blocks of the log, one after another: what kind it is, how
 * far its sequence is from the one that is due, how many bytes follow (16 bits, little-endian), and these bytes, which
 * come after the header. Checksums are put right, but for blocks that do not want it. One kind changes the superblock
 * instead.
 */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "journal/journal_overlay.h"
#include "ondisk/journal_view.h"
#include "support/crc32c.h"

#define BLOCK_BYTES 1024
#define SHORT_BLOCKS 24
#define LONG_BLOCKS 1032 /* with fast commits */
#define IMAGE_BLOCKS 2048
#define HEADER_BYTES 12
#define INPUT_HEAD_BYTES 4
#define PIECE_HEAD_BYTES 4

/* Other kinds are enum journal_block_type. */
enum { KIND_DATA = 0, KIND_SUPERBLOCK = 6, KIND_FAST_COMMIT = 7, KIND_MASK = 7, KIND_KEEPS_CHECKSUM = 0x80 };

struct input {
	uint8_t journal[LONG_BLOCKS * BLOCK_BYTES];
	struct journal_range ranges[3];
	struct journal_source source;
	struct journal_superblock super;
	struct journal_format format;
	uint32_t at, sequence;
	uint32_t transaction_checksum;
	uint32_t unchecked[LONG_BLOCKS]; /* blocks whose checksum is left as it is */
	uint64_t reads;
};

static struct input input;

static void put32(uint8_t *at, uint32_t value)
{
	for (int byte = 0; byte < 4; byte++)
		at[byte] = (uint8_t)(value >> (24 - 8 * byte));
}

static uint8_t *block_at(uint32_t logical)
{
	return input.journal + (size_t)logical * BLOCK_BYTES;
}

static uint32_t next_of(uint32_t logical)
{
	return logical + 1 >= input.super.blocks - input.super.fast_commit_blocks ? 1 : logical + 1;
}

/* Only the journal may be read, and never more of it than recovery needs. */
static errcode_t read_journal(void *context, uint64_t offset_bytes, void *buffer, size_t bytes)
{
	uint64_t block = offset_bytes / BLOCK_BYTES;

	FUZZ_CHECK(context == &input && bytes == BLOCK_BYTES && offset_bytes % BLOCK_BYTES == 0);
	FUZZ_CHECK(++input.reads <= 4 * LONG_BLOCKS);
	for (size_t index = 0; index < input.source.range_count; index++) {
		const struct journal_range *range = &input.ranges[index];

		if (block - range->physical >= range->count)
			continue;
		memcpy(buffer, block_at((uint32_t)(range->logical + block - range->physical)), bytes);
		return 0;
	}
	fuzz_fail(__FILE__, __LINE__, "what is read is of the journal");
}

static void start(const uint8_t *head)
{
	uint32_t incompat = head[0] & JOURNAL_INCOMPAT_KNOWN, blocks = SHORT_BLOCKS;

	memset(&input, 0, sizeof(input));
	if (incompat & JOURNAL_INCOMPAT_FAST_COMMIT)
		blocks = LONG_BLOCKS;
	input.ranges[0] = (struct journal_range){ 0, 900, 7 };
	input.ranges[1] = (struct journal_range){ 7, 3, 6 };
	input.ranges[2] = (struct journal_range){ 13, 908, blocks - 13 };
	input.source = (struct journal_source){
		.read = read_journal,
		.context = &input,
		.block_bytes = BLOCK_BYTES,
		.blocks = IMAGE_BLOCKS,
		.ranges = input.ranges,
		.range_count = 3,
	};
	input.super = (struct journal_superblock){
		.version = head[1] & 2 ? 1 : 2,
		.block_bytes = BLOCK_BYTES,
		.blocks = blocks,
		.first = 1,
		.sequence = (uint32_t)head[3] - 8,
		.start = 1 + head[2] % (SHORT_BLOCKS - 1),
		.compat = head[1] & JOURNAL_COMPAT_CHECKSUM,
		.incompat = incompat,
		.fast_commit_blocks = blocks == LONG_BLOCKS ? 8 : 0,
	};
	input.format = journal_format_of(&input.super);
	input.at = input.super.start;
	input.sequence = input.super.sequence;
	input.transaction_checksum = UINT32_MAX;
}

static void write_superblock(const uint8_t *changes, size_t count)
{
	uint8_t *block = block_at(0);

	memcpy(block, "\xc0\x3b\x39\x98\0\0\0", 7);
	block[7] = input.super.version == 2 ? JOURNAL_SUPERBLOCK_V2 : JOURNAL_SUPERBLOCK_V1;
	put32(block + 12, input.super.block_bytes);
	put32(block + 16, input.super.blocks);
	put32(block + 20, input.super.first);
	put32(block + 84, input.super.fast_commit_blocks);
	journal_superblock_update(block, &input.super);
	if (count < 2)
		return;
	size_t offset = changes[0] % 128, bytes = count - 1 < 8 ? count - 1 : 8;

	memcpy(block + offset, changes + 1, bytes);
	if (input.format.checksum_version) {
		put32(block + 252, 0);
		put32(block + 252, crc32c(UINT32_MAX, block, BLOCK_BYTES));
	}
}

/* A block of the log, with its header. */
static void place(unsigned int kind, int8_t further, const uint8_t *bytes, size_t count)
{
	uint32_t skipped = (kind & KIND_MASK) == KIND_DATA ? 0 : HEADER_BYTES;
	uint8_t *block = block_at(input.at);

	if (count > BLOCK_BYTES - skipped)
		count = BLOCK_BYTES - skipped;
	memset(block, 0, BLOCK_BYTES);
	if (skipped) {
		memcpy(block, "\xc0\x3b\x39\x98", 4);
		put32(block + 4, kind & KIND_MASK);
		put32(block + 8, input.sequence + (uint32_t)further);
	}
	memcpy(block + skipped, bytes, count);
	input.unchecked[input.at] = (kind & KIND_KEEPS_CHECKSUM) != 0;
	if ((kind & KIND_MASK) == JOURNAL_COMMIT)
		input.sequence++;
	input.at = next_of(input.at);
}

static void place_pieces(const uint8_t *bytes, size_t count)
{
	const uint8_t *changes = NULL;
	size_t change_bytes = 0;

	for (unsigned int pieces = 0; pieces < 2 * SHORT_BLOCKS && count >= PIECE_HEAD_BYTES; pieces++) {
		size_t length = bytes[2] | (size_t)bytes[3] << 8, left = count - PIECE_HEAD_BYTES;
		const uint8_t *contents = bytes + PIECE_HEAD_BYTES;

		length = length < left ? length : left;
		switch (bytes[0] & KIND_MASK) {
		case KIND_SUPERBLOCK:
			changes = contents;
			change_bytes = length;
			break;
		case KIND_FAST_COMMIT:
			if (input.super.fast_commit_blocks)
				memcpy(block_at(input.super.blocks - 7), contents,
				       length < BLOCK_BYTES ? length : BLOCK_BYTES);
			break;
		default:
			place(bytes[0], (int8_t)bytes[1], contents, length);
		}
		bytes = contents + length;
		count = left - length;
	}
	write_superblock(changes, change_bytes);
}

static void seal(uint8_t *block, uint32_t offset)
{
	put32(block + offset, 0);
	put32(block + offset, crc32c(input.format.checksum_seed, block, BLOCK_BYTES));
}

static uint32_t contents_checksum(const uint8_t *contents, uint32_t sequence)
{
	uint8_t bytes[4];

	put32(bytes, sequence);
	return crc32c(crc32c(input.format.checksum_seed, bytes, sizeof(bytes)), contents, BLOCK_BYTES);
}

/* Returns the block after the last one that it describes. */
static uint32_t seal_descriptor(uint32_t logical, uint32_t sequence)
{
	uint8_t *block = block_at(logical);
	struct journal_tag_cursor cursor = { .format = &input.format, .bytes = block };
	struct journal_tag_view tag;
	uint32_t at = next_of(logical), described = 0;
	size_t offset = HEADER_BYTES;

	while (described < SHORT_BLOCKS && journal_tags_next(&cursor, &tag)) {
		uint32_t checksum = contents_checksum(block_at(at), sequence);

		if (input.format.checksum_version == 3)
			put32(block + offset + 12, checksum);
		else if (input.format.checksum_version == 2) {
			block[offset + 4] = (uint8_t)(checksum >> 8);
			block[offset + 5] = (uint8_t)checksum;
		}
		offset = cursor.offset;
		described++;
		at = next_of(at);
	}
	if (input.format.checksum_version)
		seal(block, BLOCK_BYTES - 4);
	if (!(input.super.compat & JOURNAL_COMPAT_CHECKSUM))
		return at;
	for (uint32_t summed = logical; described + 1; described--, summed = next_of(summed))
		input.transaction_checksum =
			journal_transaction_checksum(input.transaction_checksum, block_at(summed), BLOCK_BYTES);
	return at;
}

/* Goes through the log as recovery does. */
static void put_checksums_right(void)
{
	uint32_t at = input.super.start, sequence = input.super.sequence;
	struct journal_header header;

	for (unsigned int steps = 0; steps < SHORT_BLOCKS && journal_header_read(block_at(at), &header); steps++) {
		uint8_t *block = block_at(at);
		bool is_sealed = !input.unchecked[at];

		if (header.type == JOURNAL_DESCRIPTOR && is_sealed) {
			at = seal_descriptor(at, sequence);
			continue;
		}
		if (header.type == JOURNAL_REVOKE && is_sealed && input.format.checksum_version)
			seal(block, BLOCK_BYTES - 4);
		if (header.type == JOURNAL_COMMIT && is_sealed) {
			if (input.format.checksum_version)
				seal(block, 16);
			if (input.super.compat & JOURNAL_COMPAT_CHECKSUM) {
				block[12] = 1;
				block[13] = 4;
				put32(block + 16, input.transaction_checksum);
			}
		}
		if (header.type == JOURNAL_COMMIT) {
			input.transaction_checksum = UINT32_MAX;
			sequence++;
		}
		at = next_of(at);
	}
}

static void check_overlay(const struct journal_overlay *overlay)
{
	struct journal_overlay_figures figures = journal_overlay_figures(overlay);
	size_t count = journal_overlay_count(overlay);
	uint8_t both[2 * BLOCK_BYTES];

	FUZZ_CHECK(figures.copies >= count + figures.hidden);
	FUZZ_CHECK(figures.transactions || !count);
	input.reads = 0;
	for (size_t index = 0; index < count; index++) {
		struct journal_overlay_block block = journal_overlay_get(overlay, index), found;

		FUZZ_CHECK(block.block < IMAGE_BLOCKS && block.physical < IMAGE_BLOCKS);
		FUZZ_CHECK(!index || journal_overlay_get(overlay, index - 1).block < block.block);
		FUZZ_CHECK(journal_overlay_find(overlay, block.block, &found) && found.physical == block.physical);
		FUZZ_CHECK(journal_overlay_apply(overlay, &input.source, block.block, 2, both) == 0);
		FUZZ_CHECK(!block.is_escaped || memcmp(both, "\xc0\x3b\x39\x98", 4) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct journal_overlay *overlay = NULL;
	struct problem problem = { 0 };

	if (count < INPUT_HEAD_BYTES)
		return 0;
	start(bytes);
	place_pieces(bytes + INPUT_HEAD_BYTES, count - INPUT_HEAD_BYTES);
	put_checksums_right();
	errcode_t error = journal_overlay_read(&input.source, &overlay, &problem);

	FUZZ_CHECK(error || overlay);
	fuzz_check_problem(error, &problem);
	if (!error)
		check_overlay(overlay);
	journal_overlay_free(overlay);
	return 0;
}
