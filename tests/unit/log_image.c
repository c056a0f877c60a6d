/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "log_image.h"

#include <errno.h>
#include <string.h>

#include "support/crc32c.h"

static void put32(uint8_t *at, uint32_t value)
{
	for (int byte = 0; byte < 4; byte++)
		at[byte] = (uint8_t)(value >> (24 - 8 * byte));
}

static errcode_t read_memory(void *context, uint64_t offset_bytes, void *buffer, size_t bytes)
{
	struct log_image *image = context;

	if (++image->reads == image->fail_at)
		return EIO;
	/* Nothing but the journal is there: who reads anything else has not kept what journal_source.h says. */
	if (offset_bytes > sizeof(image->bytes) || bytes > sizeof(image->bytes) - offset_bytes)
		return ENXIO;
	memcpy(buffer, image->bytes + offset_bytes, bytes);
	return 0;
}

void log_image_start(struct log_image *image, unsigned int kind, uint32_t start)
{
	static const uint32_t versions[] = { 0, 0, JOURNAL_INCOMPAT_CSUM_V2, JOURNAL_INCOMPAT_CSUM_V3 };

	memset(image, 0, sizeof(*image));
	image->ranges[0] = (struct journal_range){ 0, 40, 5 };
	image->ranges[1] = (struct journal_range){ 5, 3, 12 };
	image->ranges[2] = (struct journal_range){ 17, 50, LOG_JOURNAL_BLOCKS - 17 };
	image->source = (struct journal_source){
		.read = read_memory,
		.context = image,
		.path = "image",
		.block_bytes = LOG_BLOCK_BYTES,
		.blocks = LOG_IMAGE_BLOCKS,
		.ranges = image->ranges,
		.range_count = 3,
	};
	image->super = (struct journal_superblock){
		.version = 2,
		.block_bytes = LOG_BLOCK_BYTES,
		.blocks = LOG_JOURNAL_BLOCKS,
		.first = 1,
		.sequence = 7,
		.start = start,
		.compat = kind / 2 == 1 ? JOURNAL_COMPAT_CHECKSUM : 0,
		.incompat = JOURNAL_INCOMPAT_REVOKE | versions[kind / 2] | (kind % 2 ? JOURNAL_INCOMPAT_64BIT : 0),
		.uuid = "journal of tests",
	};
	image->format = journal_format_of(&image->super);
	image->at = start;
	image->sequence = 7;
	image->seconds = 1000;
	image->transaction_checksum = UINT32_MAX;
}

uint8_t *log_image_block(struct log_image *image, uint32_t logical)
{
	const struct journal_range *range = image->ranges;

	while (logical >= range->logical + range->count)
		range++;
	return image->bytes + (range->physical + logical - range->logical) * LOG_BLOCK_BYTES;
}

static uint8_t *next_block(struct log_image *image)
{
	uint8_t *block = log_image_block(image, image->at);

	image->at = image->at + 1 == image->super.blocks ? image->super.first : image->at + 1;
	return block;
}

/* crc32 of big-endian bits, as its definition says it. */
static void sum(struct log_image *image, const uint8_t *block)
{
	uint32_t checksum = image->transaction_checksum;

	for (size_t index = 0; index < LOG_BLOCK_BYTES; index++) {
		checksum ^= (uint32_t)block[index] << 24;
		for (int bit = 0; bit < 8; bit++)
			checksum = checksum & 0x80000000 ? checksum << 1 ^ 0x04c11db7 : checksum << 1;
	}
	image->transaction_checksum = checksum;
}

void log_image_descriptor(struct log_image *image, const struct log_tag *tags, uint32_t count)
{
	uint8_t contents[LOG_JOURNAL_BLOCKS][LOG_BLOCK_BYTES];
	struct journal_tag written[LOG_JOURNAL_BLOCKS];
	uint8_t *descriptor = next_block(image);

	for (uint32_t index = 0; index < count; index++) {
		memset(contents[index], tags[index].fill, LOG_BLOCK_BYTES);
		if (tags[index].has_magic)
			memcpy(contents[index], "\xc0\x3b\x39\x98", 4);
		written[index] = (struct journal_tag){
			.block = tags[index].block,
			.contents = contents[index],
			.is_escaped = journal_escape(contents[index]),
		};
	}
	journal_descriptor_write(&image->format, image->sequence, written, count, descriptor);
	sum(image, descriptor);
	for (uint32_t index = 0; index < count; index++) {
		uint8_t *block = next_block(image);

		memcpy(block, contents[index], LOG_BLOCK_BYTES);
		sum(image, block);
	}
}

void log_image_seal_tail(struct log_image *image, uint32_t logical)
{
	uint8_t *block = log_image_block(image, logical);

	if (!image->format.checksum_version)
		return;
	put32(block + LOG_BLOCK_BYTES - 4, 0);
	put32(block + LOG_BLOCK_BYTES - 4, crc32c(image->format.checksum_seed, block, LOG_BLOCK_BYTES));
}

void log_image_revokes(struct log_image *image, const uint64_t *blocks, uint32_t count)
{
	uint32_t logical = image->at, bytes = image->format.has_64bit ? 8 : 4;
	uint8_t *block = next_block(image);

	memset(block, 0, LOG_BLOCK_BYTES);
	memcpy(block, "\xc0\x3b\x39\x98\0\0\0\x05", 8);
	put32(block + 8, image->sequence);
	put32(block + 12, 16 + count * bytes);
	for (uint32_t index = 0; index < count; index++) {
		uint8_t *at = block + 16 + (size_t)index * bytes;

		if (bytes == 8)
			put32(at, (uint32_t)(blocks[index] >> 32));
		put32(at + bytes - 4, (uint32_t)blocks[index]);
	}
	log_image_seal_tail(image, logical);
}

void log_image_commit(struct log_image *image)
{
	uint8_t *block = next_block(image);

	journal_commit_write(&image->format, image->sequence++, image->seconds++, 0, block);
	if (image->super.compat & JOURNAL_COMPAT_CHECKSUM) {
		block[12] = 1;
		block[13] = 4;
		put32(block + 16, image->transaction_checksum);
	}
	image->transaction_checksum = UINT32_MAX;
}

void log_image_transaction(struct log_image *image, const struct log_tag *tags, uint32_t count)
{
	log_image_descriptor(image, tags, count);
	log_image_commit(image);
}

void log_image_finish(struct log_image *image)
{
	uint8_t *block = log_image_block(image, 0);

	memset(block, 0, LOG_BLOCK_BYTES);
	memcpy(block, "\xc0\x3b\x39\x98\0\0\0", 7);
	block[7] = image->super.version == 2 ? 4 : 3;
	put32(block + 12, image->super.block_bytes);
	put32(block + 16, image->super.blocks);
	put32(block + 20, image->super.first);
	put32(block + 84, image->super.fast_commit_blocks);
	memcpy(block + 48, image->super.uuid, sizeof(image->super.uuid));
	journal_superblock_update(block, &image->super);
}
