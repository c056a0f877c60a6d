/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/index_block.h"

#include <endian.h>
#include <string.h>

#include <ext2fs/ext2_err.h>

#include "ondisk/directory_parts.h"
#include "ondisk/views.h"
#include "support/crc32c.h"

#define ENTRY_BYTES sizeof(struct ext2_dx_entry)
#define UNUSED_FLAGS_UNKNOWN 1 /* in unused_flags: the kernel refuses such a root */

/* The kernel and e2fsck take one level of nodes below the root, two with large_dir. */
unsigned int index_most_levels(const struct ondisk_format *format)
{
	return format->large_dir ? DIRECTORY_INDEX_MAX_DEPTHS - 1 : DIRECTORY_INDEX_MAX_DEPTHS - 2;
}

/* Count and limit take the place of the first child's hash. */
uint32_t index_block_limit(const struct ondisk_format *format, uint32_t head_bytes)
{
	const uint32_t tail_bytes = format->checksums ? sizeof(struct ext2_dx_tail) : 0;

	return (format->block_bytes - head_bytes - tail_bytes) / ENTRY_BYTES;
}

static errcode_t read_children(const struct ondisk_format *format, uint8_t *block, uint32_t head_bytes,
                               struct index_block *index)
{
	struct ext2_dx_countlimit values;

	memcpy(&values, block + head_bytes, sizeof(values));
	*index = (struct index_block){ block, head_bytes, le16toh(values.count), le16toh(values.limit) };
	if (index->limit != index_block_limit(format, head_bytes) || !index->count || index->count > index->limit)
		return EXT2_ET_DIR_CORRUPTED;
	return 0;
}

errcode_t index_node_read(const struct ondisk_format *format, uint8_t *block, struct index_block *index)
{
	struct directory_record record;

	if (!directory_record_read(block, format->block_bytes, 0, &record) || record.bytes != format->block_bytes ||
	    record.entry.ino)
		return EXT2_ET_DIR_CORRUPTED;
	return read_children(format, block, INDEX_NODE_HEAD_BYTES, index);
}

static bool is_dots(const struct directory_record *record, size_t count)
{
	return record->entry.name_bytes == count && memcmp(record->entry.name, "..", count) == 0;
}

errcode_t index_root_read(const struct ondisk_format *format, uint32_t ino, uint8_t *block, struct index_block *index,
                          struct index_info *info)
{
	const size_t block_bytes = format->block_bytes;
	struct directory_record self, parent;
	struct ext2_dx_root_info raw;

	if (!directory_record_read(block, block_bytes, 0, &self) || self.bytes != INDEX_DOT_BYTES ||
	    self.entry.ino != ino || !is_dots(&self, 1) ||
	    !directory_record_read(block, block_bytes, INDEX_DOT_BYTES, &parent) ||
	    parent.bytes != block_bytes - INDEX_DOT_BYTES || !parent.entry.ino || !is_dots(&parent, 2))
		return EXT2_ET_DIR_CORRUPTED;
	memcpy(&raw, block + INDEX_ROOT_HEAD_BYTES - sizeof(raw), sizeof(raw));
	if (raw.reserved_zero || raw.info_length != sizeof(raw) || raw.unused_flags & UNUSED_FLAGS_UNKNOWN ||
	    raw.indirect_levels > index_most_levels(format))
		return EXT2_ET_DIR_CORRUPTED;
	if (raw.hash_version > EXT2_HASH_TEA)
		return EXT2_ET_DIRHASH_UNSUPP;
	const bool is_unsigned =
		format->hash_version >= EXT2_HASH_LEGACY_UNSIGNED && format->hash_version <= EXT2_HASH_TEA_UNSIGNED;

	*info = (struct index_info){
		.levels = raw.indirect_levels,
		.hash_version = raw.hash_version + (is_unsigned ? EXT2_HASH_LEGACY_UNSIGNED : 0),
		.parent = parent.entry.ino,
	};
	return read_children(format, block, INDEX_ROOT_HEAD_BYTES, index);
}

static uint8_t *child_at(const struct index_block *index, uint32_t at)
{
	return index->bytes + index->head_bytes + at * ENTRY_BYTES;
}

static struct ext2_dx_entry read_child(const struct index_block *index, uint32_t at)
{
	struct ext2_dx_entry raw;

	memcpy(&raw, child_at(index, at), sizeof(raw));
	return raw;
}

/* Only the number of the first child: the place of its hash has the counts. */
static void write_first_child(struct index_block *index, uint32_t child)
{
	const uint32_t raw = htole32(child);

	memcpy(child_at(index, 0) + offsetof(struct ext2_dx_entry, block), &raw, sizeof(raw));
}

static void write_counts(struct index_block *index, uint32_t count)
{
	const struct ext2_dx_countlimit raw = { .limit = htole16(index->limit), .count = htole16(count) };

	index->count = count;
	memcpy(child_at(index, 0), &raw, sizeof(raw));
}

uint32_t index_block_child(const struct index_block *index, uint32_t at)
{
	return le32toh(read_child(index, at).block) & EXT4_DX_BLOCK_MASK;
}

uint32_t index_block_hash(const struct index_block *index, uint32_t at)
{
	return le32toh(read_child(index, at).hash);
}

uint32_t index_block_search(const struct index_block *index, uint32_t hash)
{
	uint32_t low = 1, high = index->count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (index_block_hash(index, middle) > hash)
			high = middle;
		else
			low = middle + 1;
	}
	return low - 1;
}

void index_block_insert(struct index_block *index, uint32_t at, uint32_t hash, uint32_t child)
{
	const struct ext2_dx_entry raw = { .hash = htole32(hash), .block = htole32(child) };

	memmove(child_at(index, at + 1), child_at(index, at), (index->count - at) * ENTRY_BYTES);
	memcpy(child_at(index, at), &raw, sizeof(raw));
	write_counts(index, index->count + 1);
}

/* A node without children. */
static struct index_block begin_node(const struct ondisk_format *format, uint8_t *block)
{
	memset(block, 0, format->block_bytes);
	directory_entry_write(format, block, format->block_bytes, (struct directory_name){ 0 },
	                      (struct directory_target){ 0 });
	return (struct index_block){
		.bytes = block,
		.head_bytes = INDEX_NODE_HEAD_BYTES,
		.limit = index_block_limit(format, INDEX_NODE_HEAD_BYTES),
	};
}

/* Copies the children from number `from` on into a new node. */
static void copy_children(const struct ondisk_format *format, const struct index_block *index, uint32_t from,
                          uint8_t *block)
{
	struct index_block node = begin_node(format, block);

	memcpy(child_at(&node, 0), child_at(index, from), (index->count - from) * ENTRY_BYTES);
	write_counts(&node, index->count - from);
}

/* Leaves the first `count` children. */
static void cut_children(struct index_block *index, uint32_t count)
{
	memset(child_at(index, count), 0, (index->count - count) * ENTRY_BYTES);
	write_counts(index, count);
}

uint32_t index_block_split(const struct ondisk_format *format, struct index_block *index, uint8_t *block)
{
	const uint32_t half = index->count / 2;
	const uint32_t hash = index_block_hash(index, half);

	copy_children(format, index, half, block);
	cut_children(index, half);
	return hash;
}

void index_root_deepen(const struct ondisk_format *format, struct index_block *root, uint8_t *block, uint32_t child)
{
	copy_children(format, root, 0, block);
	cut_children(root, 1);
	write_first_child(root, child);
	root->bytes[INDEX_ROOT_HEAD_BYTES - sizeof(struct ext2_dx_root_info) +
	            offsetof(struct ext2_dx_root_info, indirect_levels)]++;
}

/* The checksum covers the used entries, and the tail with a zero checksum. */
void index_block_seal(const struct ondisk_format *format, const struct index_block *index, uint32_t inode_seed)
{
	if (!format->checksums)
		return;
	struct ext2_dx_tail tail = { 0 };
	uint32_t checksum = crc32c(inode_seed, index->bytes, index->head_bytes + index->count * ENTRY_BYTES);

	tail.dt_checksum = htole32(crc32c(checksum, &tail, sizeof(tail)));
	memcpy(child_at(index, index->limit), &tail, sizeof(tail));
}
