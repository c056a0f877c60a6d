/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/directory_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The layout of an indexed directory. A linear one needs none, since its entries are packed again as they are
 * written. */
struct directory_layout {
	struct directory_index index;
	struct directory_leaf *leaves;
	uint32_t leaf_count;
	uint32_t entry_count;
	uint32_t *order; /* the entries in the order of their hashes */

	/* The kind of hash: formats with the same one have the same order. */
	uint8_t hash_version;
	bool is_casefolded;
	uint32_t hash_seed[4];
};

void directory_layout_free(struct directory_layout *layout)
{
	if (!layout)
		return;
	free(layout->leaves);
	free(layout->order);
	free(layout);
}

/* Counts the blocks that the entries fill in the caller's order; stops at the first one above `enough`. */
static uint32_t count_linear_blocks(const struct ondisk_format *format, const struct directory_source *source,
                                    uint32_t enough)
{
	const uint32_t capacity = directory_block_capacity(format);
	uint32_t used = directory_entry_bytes(1) + directory_entry_bytes(2);
	uint32_t blocks = 1;

	for (uint32_t entry = 0; entry < source->count && blocks <= enough; entry++) {
		const uint32_t bytes =
			directory_source_entry_bytes(source, source->name(source->context, entry).length_bytes);

		if (bytes > capacity - used) {
			blocks++;
			used = 0;
		}
		used += bytes;
	}
	return blocks;
}

static errcode_t check_size(const struct ondisk_format *format, uint32_t blocks)
{
	return blocks > directory_most_blocks(format) ? EFBIG : 0;
}

/* Bit 0 says that the entry before has the same hash. */
static errcode_t leaf_hash(const struct ondisk_format *format, const struct directory_source *source,
                           const uint32_t *order, uint32_t first, uint32_t *hash)
{
	struct directory_hashes own, before;
	errcode_t error = directory_source_hash(format, source, order[first], &own);

	*hash = own.hash;
	if (error || !first)
		return error;
	error = directory_source_hash(format, source, order[first - 1], &before);
	*hash |= !error && before.hash == own.hash;
	return error;
}

/* Fills leaves[] in the order of hashes. Lengths that are stored in that order are read five times as fast. */
static errcode_t pack_leaves(const struct ondisk_format *format, const struct directory_source *source,
                             struct directory_layout *layout)
{
	const uint32_t capacity = directory_block_capacity(format);
	SCOPE_FREE uint8_t *lengths = malloc(source->count);
	uint32_t used = capacity;

	if (!lengths)
		return ENOMEM;
	for (uint32_t entry = 0; entry < source->count; entry++)
		lengths[entry] = source->name(source->context, entry).length_bytes;
	for (uint32_t i = 0; i < source->count; i++) {
		const uint32_t bytes = directory_source_entry_bytes(source, lengths[layout->order[i]]);

		if (bytes > capacity - used) {
			struct directory_leaf *leaf = &layout->leaves[layout->leaf_count++];
			errcode_t error = leaf_hash(format, source, layout->order, i, &leaf->hash);

			if (error)
				return error;
			leaf->first = i;
			used = 0;
		}
		used += bytes;
	}
	return 0;
}

static uint8_t hash_version_of(const struct ondisk_format *format, const struct directory_source *source)
{
	return source->hashes ? EXT2_HASH_SIPHASH : format->hash_version;
}

static bool has_same_order(const struct directory_layout *one, const struct directory_layout *other)
{
	return one->entry_count == other->entry_count && one->hash_version == other->hash_version &&
	       one->is_casefolded == other->is_casefolded &&
	       memcmp(one->hash_seed, other->hash_seed, sizeof(one->hash_seed)) == 0;
}

/* Finds the order of hashes, or takes an earlier layout's if it is the same. */
static errcode_t find_order(const struct ondisk_format *format, const struct directory_source *source,
                            struct directory_layout *earlier, struct directory_layout *layout)
{
	SCOPE_FREE uint64_t *keys = NULL;

	layout->entry_count = source->count;
	layout->hash_version = hash_version_of(format, source);
	layout->is_casefolded = source->is_casefolded;
	/* Stored hashes depend on a key, and not on the filesystem. */
	if (!source->hashes)
		memcpy(layout->hash_seed, format->hash_seed, sizeof(layout->hash_seed));
	if (earlier && has_same_order(layout, earlier)) {
		layout->order = TAKE(earlier->order);
		return 0;
	}
	errcode_t error = directory_order(format, source, &keys);

	if (error)
		return error;
	layout->order = malloc(source->count * sizeof(*layout->order));
	if (!layout->order)
		return ENOMEM;
	for (uint32_t i = 0; i < source->count; i++)
		layout->order[i] = directory_key_entry(keys[i]);
	return 0;
}

static errcode_t layout_indexed(const struct ondisk_format *format, const struct directory_source *source,
                                struct directory_layout *earlier, struct directory_layout *layout)
{
	/* A leaf that is not the last has no room for another entry of the longest name. */
	const uint32_t fewest_in_leaf =
		directory_block_capacity(format) / directory_source_entry_bytes(source, EXT2_NAME_LEN);
	const size_t most_leaves = source->count / fewest_in_leaf + 1;
	errcode_t error = find_order(format, source, earlier, layout);

	if (error)
		return error;
	layout->leaves = malloc(most_leaves * sizeof(*layout->leaves));
	if (!layout->leaves)
		return ENOMEM;
	error = pack_leaves(format, source, layout);
	if (error)
		return error;
	/* The leaves may be a fiftieth of those for the longest names. */
	struct directory_leaf *fewer = realloc(layout->leaves, layout->leaf_count * sizeof(*layout->leaves));

	layout->leaves = fewer ? fewer : layout->leaves;
	return directory_index_shape(format, layout->leaf_count, &layout->index);
}

static void cleanup_layout(struct directory_layout **layout)
{
	directory_layout_free(*layout);
}

errcode_t directory_layout(const struct ondisk_format *format, const struct directory_source *source,
                           uint32_t minimum_blocks, struct directory_layout *earlier, uint32_t *blocks,
                           struct directory_layout **ret)
{
	const uint32_t enough = minimum_blocks ? minimum_blocks : 1;
	const uint32_t linear = count_linear_blocks(format, source, format->dir_index ? enough : UINT32_MAX);

	*ret = NULL;
	if (linear <= enough || !format->dir_index) {
		*blocks = linear < enough ? enough : linear;
		return check_size(format, *blocks);
	}
	__attribute__((cleanup(cleanup_layout))) struct directory_layout *layout = calloc(1, sizeof(*layout));
	if (!layout)
		return ENOMEM;
	errcode_t error = layout_indexed(format, source, earlier, layout);
	if (error)
		return error;
	*blocks = layout->index.blocks + layout->leaf_count;
	error = check_size(format, *blocks);
	if (!error)
		*ret = TAKE(layout);
	return error;
}

/* The position of writing entries. */
struct writer {
	const struct ondisk_format *format;
	const struct directory_source *source;
	uint32_t inode_seed;
	uint8_t *next; /* the block after the one being filled */
	uint8_t *end;
	uint8_t *block;                   /* the one being filled */
	uint32_t used_bytes, last_offset; /* of its entries; offset of the last one */
};

static errcode_t begin_block(struct writer *writer)
{
	if (writer->next == writer->end)
		return EINVAL;
	writer->block = memset(writer->next, 0, writer->format->block_bytes);
	writer->next += writer->format->block_bytes;
	writer->used_bytes = writer->last_offset = 0;
	return 0;
}

static void finish_block(const struct writer *writer)
{
	directory_block_finish(writer->format, writer->block, writer->last_offset, writer->inode_seed);
}

/* Adds an entry to the block, or to the next one when it does not fit. hashes: NULL: it stores none. */
static errcode_t put(struct writer *writer, struct directory_name name, struct directory_target target,
                     const struct directory_hashes *hashes)
{
	const uint32_t entry_bytes =
		directory_entry_bytes(name.length_bytes) + (hashes ? (uint32_t)sizeof(*hashes) : 0);

	if (!target.ino || !name.length_bytes)
		return EINVAL;
	if (entry_bytes > directory_block_capacity(writer->format) - writer->used_bytes) {
		finish_block(writer);
		errcode_t error = begin_block(writer);

		if (error)
			return error;
	}
	writer->last_offset = writer->used_bytes;
	directory_entry_write(writer->format, writer->block + writer->last_offset, entry_bytes, name, target);
	if (hashes)
		directory_entry_write_hashes(writer->block + writer->last_offset, name.length_bytes, *hashes);
	writer->used_bytes += entry_bytes;
	return 0;
}

static errcode_t put_entry(struct writer *writer, uint32_t entry)
{
	const struct directory_source *source = writer->source;

	const struct directory_name name = source->name(source->context, entry);
	const struct directory_target target = source->target(source->context, entry);

	if (!source->hashes)
		return put(writer, name, target, NULL);
	const struct directory_hashes hashes = source->hashes(source->context, entry);

	return put(writer, name, target, &hashes);
}

static errcode_t build_linear(struct writer *writer, uint32_t ino, uint32_t parent_ino)
{
	errcode_t error = begin_block(writer);

	if (!error)
		error = put(writer, (struct directory_name){ ".", 1 }, (struct directory_target){ ino, EXT2_FT_DIR },
		            NULL);
	if (!error)
		error = put(writer, (struct directory_name){ "..", 2 },
		            (struct directory_target){ parent_ino, EXT2_FT_DIR }, NULL);
	for (uint32_t entry = 0; !error && entry < writer->source->count; entry++)
		error = put_entry(writer, entry);
	if (error)
		return error;
	finish_block(writer);
	while (begin_block(writer) == 0)
		finish_block(writer);
	return 0;
}

/* The distance of prefetching: several entries at a time, far enough ahead for the memory's latency. */
#define FAR_AHEAD 16u
#define CLOSE_AHEAD 8u

static void expect_entries(const struct directory_source *source, const struct directory_layout *layout, uint32_t next)
{
	if (!source->expect)
		return;
	if (next + FAR_AHEAD < layout->entry_count)
		source->expect(source->context, layout->order[next + FAR_AHEAD], false);
	if (next + CLOSE_AHEAD < layout->entry_count)
		source->expect(source->context, layout->order[next + CLOSE_AHEAD], true);
}

/* A leaf with more than was laid out takes the block of the next one, and the last has none. */
static errcode_t build_leaves(struct writer *writer, const struct directory_layout *layout)
{
	for (uint32_t leaf = 0; leaf < layout->leaf_count; leaf++) {
		const bool is_last = leaf + 1 == layout->leaf_count;
		const uint32_t end = is_last ? layout->entry_count : layout->leaves[leaf + 1].first;
		errcode_t error = begin_block(writer);

		for (uint32_t i = layout->leaves[leaf].first; !error && i < end; i++) {
			expect_entries(writer->source, layout, i);
			error = put_entry(writer, layout->order[i]);
		}
		if (error)
			return error;
		finish_block(writer);
	}
	return 0;
}

errcode_t directory_build(const struct ondisk_format *format, const struct directory_source *source,
                          const struct directory_layout *layout, uint32_t blocks, uint32_t ino, uint32_t parent_ino,
                          uint32_t generation, void *bytes)
{
	struct writer writer = {
		.format = format,
		.source = source,
		.inode_seed = format->checksums ? ondisk_inode_seed(format, ino, generation) : 0,
		.next = bytes,
		.end = (uint8_t *)bytes + (size_t)blocks * format->block_bytes,
	};

	if (!layout)
		return build_linear(&writer, ino, parent_ino);
	if (layout->entry_count != source->count || layout->index.blocks + layout->leaf_count != blocks || !ino ||
	    !parent_ino)
		return EINVAL;
	directory_index_build(format, &layout->index, layout->leaves, layout->leaf_count,
	                      hash_version_of(format, source), ino, parent_ino, writer.inode_seed, bytes);
	writer.next += (size_t)layout->index.blocks * format->block_bytes;
	return build_leaves(&writer, layout);
}
