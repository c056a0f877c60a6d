/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/image/image_verity.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "support/vector.h"

/* Collects the blocks that a map has from the beginning of the verity metadata on. */
struct collecting {
	struct image_scan *scan;
	struct image_worker *worker;
	uint64_t first_block;
	uint64_t blocks; /* that are written, from first_block on */
};

static bool take_record(void *context, const struct map_record *record)
{
	struct collecting *collecting = context;
	struct image_worker *worker = collecting->worker;

	/* Only the last record, and those before it into which the descriptor reaches, are needed. */
	uint64_t end = record->logical + record->count, first = collecting->first_block;

	if (end <= first)
		return true;
	if (!record->is_unwritten)
		collecting->blocks += end - (record->logical > first ? record->logical : first);
	worker->error = source_counts_metadata(collecting->scan->options->counts, sizeof(*record));
	if (!worker->error)
		worker->error = vector_reserve(&worker->records, &worker->record_capacity, worker->record_count + 1,
		                               sizeof(*worker->records));
	if (worker->error)
		return false;
	worker->records[worker->record_count++] = *record;
	return true;
}

/* Finds the place of a file's block; false if the file has no block there. */
static bool find_block(const struct image_worker *worker, const struct volume *volume, uint64_t block,
                       uint64_t *physical)
{
	for (size_t n = worker->record_count; n-- > 0;) {
		const struct map_record *record = &worker->records[n];

		if (record->logical > block)
			continue;
		if (record->logical + record->count <= block || record->is_unwritten)
			return false;
		*physical = record->physical + (block - record->logical);
		return *physical < volume->readable_end;
	}
	return false;
}

/* Reads `count` blocks from `first` on; *bytes NULL: the file does not have them all. */
static errcode_t read_blocks(const struct volume *volume, const struct image_worker *worker, uint64_t first,
                             uint64_t count, uint8_t **bytes)
{
	SCOPE_FREE uint8_t *buffer = malloc(count << volume->format.block_bits);

	*bytes = NULL;
	if (!buffer)
		return ENOMEM;
	for (uint64_t n = 0; n < count; n++) {
		uint64_t physical;

		if (!find_block(worker, volume, first + n, &physical))
			return 0;
		errcode_t error = volume_read(volume, physical, 1, buffer + (n << volume->format.block_bits));

		if (error)
			return error;
	}
	*bytes = TAKE(buffer);
	return 0;
}

static errcode_t read_size(const struct volume *volume, const struct image_worker *worker, uint64_t end,
                           uint32_t *descriptor_bytes)
{
	SCOPE_FREE uint8_t *last = NULL;
	errcode_t error = read_blocks(volume, worker, end - 1, 1, &last);

	*descriptor_bytes = 0;
	if (error || !last)
		return error;
	memcpy(descriptor_bytes, last + volume->format.block_bytes - sizeof(uint32_t), sizeof(uint32_t));
	*descriptor_bytes = le32toh(*descriptor_bytes);
	return 0;
}

/* Reads the descriptor and its signature; *bytes NULL: there is no possible one. */
static errcode_t read_descriptor(const struct volume *volume, const struct image_worker *worker, uint64_t first_block,
                                 uint8_t **bytes, uint32_t *descriptor_bytes)
{
	const struct map_record *last = &worker->records[worker->record_count - 1];
	unsigned int block_bits = volume->format.block_bits;
	uint64_t end = last->logical + last->count;
	errcode_t error = read_size(volume, worker, end, descriptor_bytes);

	*bytes = NULL;
	if (error || *descriptor_bytes < VERITY_DESCRIPTOR_BYTES ||
	    *descriptor_bytes > VERITY_DESCRIPTOR_BYTES + VERITY_MOST_SIGNATURE_BYTES)
		return error;
	uint64_t blocks =
		((uint64_t)*descriptor_bytes + sizeof(uint32_t) + volume->format.block_bytes - 1) >> block_bits;

	return end < first_block + blocks ? 0 : read_blocks(volume, worker, end - blocks, blocks, bytes);
}

/*
 * True if the file has room for its hashes. A small image may claim that a huge hole is protected, and its hashes would
 * take terabytes.
 */
static bool has_room(const struct volume *volume, const struct verity_value *value, uint64_t blocks)
{
	const struct hash_tree_form form = {
		.hash = tree_verity_hash(value->algorithm),
		.data_block_bits = value->block_bits,
		.hash_block_bits = value->block_bits,
	};
	unsigned int levels;
	uint64_t hash_blocks = hash_tree_measure(&form, value->data_bytes, &levels);

	return hash_blocks <= blocks << volume->format.block_bits >> value->block_bits;
}

static errcode_t keep(struct image_scan *scan, struct image_worker *worker, const struct verity_value *value,
                      const uint8_t *signature, const struct tree_verity **ret)
{
	errcode_t error =
		source_counts_metadata(scan->options->counts, sizeof(struct tree_verity) + value->signature_bytes);

	if (error)
		return error;
	struct tree_verity *verity = arena_alloc(&worker->memory, sizeof(*verity) + value->signature_bytes);

	if (!verity)
		return ENOMEM;
	*verity = (struct tree_verity){
		.algorithm = value->algorithm,
		.block_bits = value->block_bits,
		.salt_bytes = value->salt_bytes,
		.is_inherited = true,
		.has_digest = true,
		.signature_bytes = value->signature_bytes,
		.signature = value->signature_bytes ? verity + 1 : NULL,
	};
	memcpy(verity->salt, value->salt, sizeof(verity->salt));
	memcpy(verity + 1, signature, value->signature_bytes);
	verity_digest(value, tree_verity_hash(value->algorithm), verity->digest);
	*ret = verity;
	return 0;
}

errcode_t image_read_verity(struct image_scan *scan, struct image_worker *worker, const struct volume_inode *source,
                            const struct tree_verity **ret)
{
	const struct volume *volume = scan->volume;
	uint64_t data_bytes = source->all.value.size_bytes;
	SCOPE_FREE uint8_t *bytes = NULL;
	struct collecting collecting = { .scan = scan, .worker = worker };
	struct verity_place place;
	struct verity_value value;
	struct map_shape shape;
	uint32_t descriptor_bytes;

	*ret = NULL;
	if (!(source->view.flags & EXT4_EXTENTS_FL) || (source->view.flags & EXT4_INLINE_DATA_FL) ||
	    !verity_place(volume->format.block_bits, data_bytes, 0, VERITY_DESCRIPTOR_BYTES, &place))
		return 0;
	collecting.first_block = place.first_block;
	worker->record_count = 0;
	worker->error = 0;
	map_walk(&worker->walker.map, source->ino, &source->view, take_record, &collecting, &shape);
	if (worker->error || !worker->record_count)
		return worker->error;
	errcode_t error = read_descriptor(volume, worker, place.first_block, &bytes, &descriptor_bytes);

	if (error || !bytes || !verity_decode(bytes, descriptor_bytes, &value) || value.data_bytes != data_bytes ||
	    !has_room(volume, &value, collecting.blocks))
		return error;
	return keep(scan, worker, &value, bytes + VERITY_DESCRIPTOR_BYTES, ret);
}
