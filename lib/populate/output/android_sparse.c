/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/output/android_sparse.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ondisk/android_sparse.h"
#include "populate/format/filesystem.h"
#include "support/run/interrupt.h"

#define BUFFER_BYTES (1u << 20)

struct conversion {
	struct image source, target;
	uint32_t block_bytes;
	uint64_t written_bytes;
	uint32_t chunks;
	uint8_t *buffer;
	/* The chunk that has not been written yet, because it may grow: blocks that are filled or do not matter. */
	enum chunk_type pending_type;
	uint64_t pending_blocks;
	uint32_t pending_word;
};

static errcode_t put(struct conversion *conversion, const void *bytes, size_t count)
{
	errcode_t error = image_write(&conversion->target, bytes, count, conversion->written_bytes);

	conversion->written_bytes += count;
	return error;
}

static errcode_t put_chunk(struct conversion *conversion, enum chunk_type type, uint32_t blocks, const void *bytes,
                           uint32_t count)
{
	struct chunk_header header = {
		.type = htole16(type),
		.blocks = htole32(blocks),
		.bytes = htole32(sizeof(header) + count),
	};
	errcode_t error = put(conversion, &header, sizeof(header));

	conversion->chunks++;
	return error || !count ? error : put(conversion, bytes, count);
}

static errcode_t put_pending(struct conversion *conversion)
{
	uint32_t blocks = (uint32_t)conversion->pending_blocks;
	bool is_filled = conversion->pending_type == CHUNK_FILL;

	conversion->pending_blocks = 0;
	if (!blocks)
		return 0;
	/* The word is stored as it is in the blocks, whatever the host's byte order. */
	return put_chunk(conversion, conversion->pending_type, blocks, &conversion->pending_word,
	                 is_filled ? sizeof(conversion->pending_word) : 0);
}

static errcode_t defer(struct conversion *conversion, enum chunk_type type, uint32_t word, uint64_t blocks)
{
	errcode_t error = 0;

	if (type != conversion->pending_type || word != conversion->pending_word)
		error = put_pending(conversion);
	conversion->pending_type = type;
	conversion->pending_word = word;
	conversion->pending_blocks += blocks;
	return error;
}

static errcode_t put_raw(struct conversion *conversion, const uint8_t *bytes, uint32_t blocks)
{
	errcode_t error = blocks ? put_pending(conversion) : 0;

	return error || !blocks ? error :
	                          put_chunk(conversion, CHUNK_RAW, blocks, bytes, blocks * conversion->block_bytes);
}

/* True if the block is one word over and over. */
static bool is_filled(const struct conversion *conversion, const uint8_t *block, uint32_t *word)
{
	memcpy(word, block, sizeof(*word));
	return memcmp(block, block + sizeof(*word), conversion->block_bytes - sizeof(*word)) == 0;
}

/* Writes the allocated blocks that are in the buffer. */
static errcode_t put_blocks(struct conversion *conversion, uint32_t blocks)
{
	uint32_t raw = 0; /* number of blocks before this one that are to be written as they are */
	errcode_t error = 0;

	for (uint32_t block = 0; !error && block < blocks; block++) {
		const uint8_t *bytes = conversion->buffer + (size_t)block * conversion->block_bytes;
		uint32_t word;

		if (!is_filled(conversion, bytes, &word)) {
			raw++;
			continue;
		}
		error = put_raw(conversion, bytes - (size_t)raw * conversion->block_bytes, raw);
		raw = 0;
		if (!error)
			error = defer(conversion, CHUNK_FILL, word, 1);
	}
	if (error)
		return error;
	return put_raw(conversion, conversion->buffer + (size_t)(blocks - raw) * conversion->block_bytes, raw);
}

static errcode_t put_allocated(struct conversion *conversion, uint64_t block, uint64_t end)
{
	const uint64_t most = BUFFER_BYTES / conversion->block_bytes;
	errcode_t error = 0;

	for (uint64_t count; !error && block < end; block += count) {
		count = end - block < most ? end - block : most;
		error = image_read(&conversion->source, conversion->buffer, (size_t)count * conversion->block_bytes,
		                   block * conversion->block_bytes);
		if (!error)
			error = put_blocks(conversion, (uint32_t)count);
		if (!error && interrupt_pending())
			error = EINTR;
	}
	return error;
}

/* Returns where the allocation changes after block: the first block that is in use, or that is not. */
static uint64_t change_after(ext2_filsys fs, uint64_t block, uint64_t end, bool in_use)
{
	blk64_t found = end;
	errcode_t error = in_use ? ext2fs_find_first_zero_block_bitmap2(fs->block_map, block, end - 1, &found) :
	                           ext2fs_find_first_set_block_bitmap2(fs->block_map, block, end - 1, &found);

	return error ? end : found;
}

static errcode_t write_chunks(ext2_filsys fs, struct conversion *conversion)
{
	uint64_t end = ext2fs_blocks_count(fs->super), first = fs->super->s_first_data_block;
	uint64_t cluster = EXT2FS_CLUSTER_RATIO(fs);
	struct sparse_header header = {
		.magic = htole32(SPARSE_MAGIC),
		.major = htole16(1),
		.header_bytes = htole16(sizeof(struct sparse_header)),
		.chunk_header_bytes = htole16(sizeof(struct chunk_header)),
		.block_bytes = htole32(fs->blocksize),
		.blocks = htole32((uint32_t)end),
	};

	if (end > UINT32_MAX)
		return EFBIG;
	/*
	 * The header is written when all chunks have been counted. The blocks before the first one belong to the boot
	 * loader.
	 */
	conversion->written_bytes = sizeof(header);
	errcode_t error = put_allocated(conversion, 0, first);

	for (uint64_t block = first, next; !error && block < end; block = next) {
		bool in_use = ext2fs_test_block_bitmap2(fs->block_map, block);

		next = change_after(fs, block, end, in_use);
		/* A bit stands for a whole cluster. */
		if (next < end)
			next = next / cluster * cluster;
		if (next <= block)
			next = block + 1;
		error = in_use ? put_allocated(conversion, block, next) : defer(conversion, CHUNK_ANY, 0, next - block);
	}
	if (!error)
		error = put_pending(conversion);
	header.chunks = htole32(conversion->chunks);
	return error ? error : image_write(&conversion->target, &header, sizeof(header), 0);
}

errcode_t android_sparse_convert(const struct image_file *file, uint32_t block_bytes, const struct workplace *work,
                                 struct output *output)
{
	struct conversion conversion = { .block_bytes = block_bytes };
	SCOPE_FREE uint8_t *buffer = malloc(BUFFER_BYTES);
	SCOPE_CLOSE int source = -1;
	ext2_filsys fs = NULL;
	errcode_t error = buffer ? filesystem_open_image(file, work, &fs) : ENOMEM;

	if (!error)
		error = ext2fs_read_block_bitmap(fs);
	if (!error)
		error = output_renew(output, &source, work->problem);
	conversion.buffer = buffer;
	conversion.source = (struct image){ source, -1, file->image.offset_bytes };
	conversion.target = (struct image){ output->descriptor, -1, 0 };
	if (!error)
		error = write_chunks(fs, &conversion);
	if (fs)
		ext2fs_free(fs);
	return workplace_result(work, error, "cannot be made an Android sparse image");
}
