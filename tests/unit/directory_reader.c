/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "directory_reader.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#define CHECK(condition, what)                                                                                         \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			return what;                                                                                   \
	} while (0)

#define PASS(call)                                                                                                     \
	do {                                                                                                           \
		const char *why = (call);                                                                              \
		if (why)                                                                                               \
			return why;                                                                                    \
	} while (0)

/* What is known from the blocks read so far. */
struct reader {
	const struct directory_bytes *directory;
	const struct name_set *set;
	uint32_t *block_of;   /* per entry: where it was found, 0xffffffff: not yet */
	uint8_t *block_seen;  /* per block: an index entry points at it */
	uint32_t entries;     /* found so far */
	uint32_t leaves;      /* read so far */
	uint32_t hash, minor; /* of the entry before */
	uint32_t room_bytes;  /* behind the last entry of the block before */
};

static uint16_t get16(const uint8_t *at)
{
	return at[0] | at[1] << 8;
}

static uint32_t get32(const uint8_t *at)
{
	return get16(at) | (uint32_t)get16(at + 2) << 16;
}

static const uint8_t *block_at(const struct directory_bytes *directory, uint32_t block)
{
	return directory->bytes + (size_t)block * directory->format->block_bytes;
}

static uint32_t record_bytes(const struct directory_bytes *directory, const uint8_t *entry)
{
	const uint32_t record = get16(entry + 4);

	/* Readers take 0 for 65536 too, but the kernel writes 65535. */
	return directory->format->block_bytes == 65536 && record == 65535 ? 65536 : record;
}

static uint32_t seeded_crc(const struct directory_bytes *directory, const uint8_t *bytes, size_t count)
{
	const uint8_t zero[8] = { 0 };
	uint32_t words[2] = { htole32(directory->ino), htole32(directory->generation) };
	uint32_t crc = ext2fs_crc32c_le(directory->format->checksum_seed, (const uint8_t *)words, 8);

	crc = ext2fs_crc32c_le(crc, bytes, count);
	return count == directory->format->block_bytes - 12 ? crc : ext2fs_crc32c_le(crc, zero, 8);
}

static void kernel_hash(const struct directory_bytes *directory, struct directory_name name, uint32_t *hash,
                        uint32_t *minor)
{
	if (ext2fs_dirhash2(directory->format->hash_version, name.name, name.length_bytes, NULL, 0,
	                    directory->format->hash_seed, hash, minor))
		abort();
	if (*hash == 0xfffffffe)
		*hash = 0xfffffffc;
}

/* One entry of a leaf or linear block, which begins at `at` and is not "." or "..". */
static const char *read_entry(struct reader *reader, uint32_t block, const uint8_t *at)
{
	const struct ondisk_format *format = reader->directory->format;
	const uint32_t entry = get32(at) - reader->set->first_ino;

	CHECK(entry < reader->set->count, "an inode number that is no entry's");
	const struct directory_name name = reader->set->names[entry];
	CHECK(reader->block_of[entry] == UINT32_MAX, "an entry stands there twice");
	reader->block_of[entry] = block;
	CHECK(at[6] == name.length_bytes && memcmp(at + 8, name.name, at[6]) == 0, "another name");
	CHECK(at[7] == (format->filetype ? reader->set->file_type : 0), "a wrong file type");
	if (reader->directory->is_indexed) {
		uint32_t hash, minor;

		kernel_hash(reader->directory, name, &hash, &minor);
		CHECK(reader->entries == 0 || hash > reader->hash || (hash == reader->hash && minor >= reader->minor),
		      "entries are not in the order of their hashes");
		reader->hash = hash;
		reader->minor = minor;
	} else {
		CHECK(entry == reader->entries, "a linear directory in another order");
	}
	reader->entries++;
	return NULL;
}

static const char *read_dots(const struct directory_bytes *directory, const uint8_t *block)
{
	const uint8_t type = directory->format->filetype ? EXT2_FT_DIR : 0;
	const uint8_t dot[] = { 12, 0, 1, type, '.', 0, 0, 0 };
	const uint8_t dot_dot[] = { 2, type, '.', '.', 0, 0 };

	CHECK(get32(block) == directory->ino && memcmp(block + 4, dot, 8) == 0, "\".\" is wrong");
	CHECK(get32(block + 12) == directory->parent_ino && memcmp(block + 18, dot_dot, 6) == 0, "\"..\" is wrong");
	return NULL;
}

/* A block of entries, from start_bytes (0, or behind "."). */
static const char *read_block(struct reader *reader, uint32_t number, uint32_t start_bytes)
{
	const struct directory_bytes *directory = reader->directory;
	const uint32_t end_bytes = directory->format->block_bytes - (directory->format->checksums ? 12 : 0);
	const uint8_t *block = block_at(directory, number);
	const uint32_t room_before = reader->room_bytes;

	for (uint32_t at = start_bytes, record; at < end_bytes; at += record) {
		const uint8_t *entry = block + at;
		const uint32_t needed = (8 + entry[6] + 3) & ~3u;

		record = record_bytes(directory, entry);
		CHECK(record % 4 == 0 && record >= 12 && record >= needed && at + record <= end_bytes, "a bad record");
		CHECK(at + record == end_bytes || record == needed, "a gap between entries");
		reader->room_bytes = record - needed;
		if (at == 12 && start_bytes == 12)
			continue; /* ".." */
		if (get32(entry) == 0) {
			CHECK(at == 0 && record == end_bytes && entry[6] == 0, "an unused entry among others");
			CHECK(reader->entries == reader->set->count, "an empty block before the last entry");
			continue;
		}
		CHECK(at > start_bytes || number == 0 || reader->leaves == 0 || room_before < needed,
		      "the block before had room for this entry");
		PASS(read_entry(reader, number, entry));
	}
	reader->leaves++;
	if (!directory->format->checksums)
		return NULL;
	const uint8_t tail[] = { 0, 0, 0, 0, 12, 0, 0, 0xde };
	CHECK(memcmp(block + end_bytes, tail, sizeof(tail)) == 0, "a bad tail");
	CHECK(get32(block + end_bytes + 8) == seeded_crc(directory, block, end_bytes), "a bad checksum");
	return NULL;
}

static uint32_t head_bytes(uint32_t block)
{
	return block == 0 ? 32 : 8;
}

static uint32_t index_count(const struct directory_bytes *directory, uint32_t block)
{
	return get16(block_at(directory, block) + head_bytes(block) + 2);
}

static uint32_t index_hash(const struct directory_bytes *directory, uint32_t block, uint32_t at)
{
	return get32(block_at(directory, block) + head_bytes(block) + 8 * (size_t)at);
}

static uint32_t index_child(const struct directory_bytes *directory, uint32_t block, uint32_t at)
{
	return get32(block_at(directory, block) + head_bytes(block) + 8 * (size_t)at + 4) & 0x0fffffff;
}

uint32_t directory_indirect_levels(const struct directory_bytes *directory)
{
	return directory->bytes[30];
}

static const char *check_index_block(const struct directory_bytes *directory, uint32_t number)
{
	const uint32_t block_bytes = directory->format->block_bytes;
	const uint8_t *block = block_at(directory, number);
	const uint32_t head = head_bytes(number);
	const uint32_t limit = (block_bytes - head - (directory->format->checksums ? 8 : 0)) / 8;
	const uint32_t count = index_count(directory, number);

	if (number == 0) {
		CHECK(record_bytes(directory, block + 12) == block_bytes - 12, "\"..\" does not hide the index");
		CHECK(get32(block + 24) == 0 && block[29] == 8 && block[31] == 0, "a bad root");
		CHECK(block[28] == directory->format->hash_version % 3, "a bad hash version");
	} else {
		CHECK(get32(block) == 0 && record_bytes(directory, block) == block_bytes && get16(block + 6) == 0,
		      "a node does not look empty");
	}
	CHECK(get16(block + head) == limit, "a bad limit");
	CHECK(count >= 1 && count <= limit, "a bad count");
	if (!directory->format->checksums)
		return NULL;
	CHECK(get32(block + head + 8 * limit) == 0, "a bad tail of the index");
	CHECK(get32(block + head + 8 * limit + 4) == seeded_crc(directory, block, head + 8 * count),
	      "a bad checksum of the index");
	return NULL;
}

/* The subtree of an index block, whose leaves begin with the hash `bound` (continuation bit included). */
static const char *read_subtree(struct reader *reader, uint32_t block, uint32_t levels, uint32_t bound)
{
	PASS(check_index_block(reader->directory, block));
	for (uint32_t at = 0; at < index_count(reader->directory, block); at++) {
		const uint32_t child = index_child(reader->directory, block, at);
		const uint32_t last_hash = reader->hash;

		if (at > 0)
			bound = index_hash(reader->directory, block, at);
		CHECK(child < reader->directory->blocks, "a child beyond the end");
		CHECK(!reader->block_seen[child]++, "a block with two parents");
		if (levels > 0) {
			PASS(read_subtree(reader, child, levels - 1, bound));
			continue;
		}
		const uint8_t *first = block_at(reader->directory, child);
		uint32_t hash, minor;

		kernel_hash(reader->directory, (struct directory_name){ (const char *)first + 8, first[6] }, &hash,
		            &minor);
		CHECK(reader->leaves == 0 || (bound & ~1u) == hash, "an index entry has another hash than its leaf");
		CHECK(reader->leaves == 0 || (bound & 1) == (hash == last_hash), "a wrong continuation bit");
		PASS(read_block(reader, child, 0));
	}
	return NULL;
}

struct frame {
	uint32_t block, at;
};

/* As dx_probe(): the last entry at or below the hash, level by level. */
static void probe(const struct directory_bytes *directory, uint32_t hash, struct frame *frames, uint32_t levels)
{
	for (uint32_t level = 0, block = 0; level <= levels; level++) {
		uint32_t low = 1, high = index_count(directory, block);

		while (low < high) {
			const uint32_t middle = (low + high) / 2;

			if (index_hash(directory, block, middle) > hash)
				high = middle;
			else
				low = middle + 1;
		}
		frames[level] = (struct frame){ block, low - 1 };
		block = index_child(directory, block, low - 1);
	}
}

/* As ext4_htree_next_block(): to the next leaf if it begins with this hash. */
static bool next_leaf(const struct directory_bytes *directory, uint32_t hash, struct frame *frames, uint32_t levels)
{
	uint32_t level = levels;

	while (++frames[level].at >= index_count(directory, frames[level].block))
		if (level-- == 0)
			return false;
	if ((index_hash(directory, frames[level].block, frames[level].at) & ~1u) != hash)
		return false;
	for (; level < levels; level++)
		frames[level + 1] = (struct frame){ index_child(directory, frames[level].block, frames[level].at), 0 };
	return true;
}

static const char *look_up_all(const struct reader *reader)
{
	const uint32_t levels = directory_indirect_levels(reader->directory);

	for (uint32_t entry = 0; entry < reader->set->count; entry++) {
		struct frame frames[3];
		uint32_t hash, minor;

		kernel_hash(reader->directory, reader->set->names[entry], &hash, &minor);
		probe(reader->directory, hash, frames, levels);
		while (index_child(reader->directory, frames[levels].block, frames[levels].at) !=
		       reader->block_of[entry])
			CHECK(next_leaf(reader->directory, hash, frames, levels), "a name is not found by its hash");
	}
	return NULL;
}

static const char *read_indexed(struct reader *reader)
{
	const struct directory_bytes *directory = reader->directory;

	CHECK(directory_indirect_levels(directory) <= (directory->format->large_dir ? 2 : 1), "too many levels");
	reader->block_seen[0] = 1;
	PASS(read_subtree(reader, 0, directory_indirect_levels(directory), 0));
	for (uint32_t block = 0; block < directory->blocks; block++)
		CHECK(reader->block_seen[block], "a block that the index does not know");
	CHECK(reader->entries == reader->set->count, "entries are missing");
	return look_up_all(reader);
}

static const char *read_all(struct reader *reader)
{
	PASS(read_dots(reader->directory, reader->directory->bytes));
	if (reader->directory->is_indexed)
		return read_indexed(reader);
	for (uint32_t block = 0; block < reader->directory->blocks; block++)
		PASS(read_block(reader, block, block == 0 ? 12 : 0));
	CHECK(reader->entries == reader->set->count, "entries are missing");
	return NULL;
}

const char *directory_check(const struct directory_bytes *directory, const struct name_set *set)
{
	SCOPE_FREE uint32_t *block_of = malloc((set->count + 1) * sizeof(*block_of));
	SCOPE_FREE uint8_t *block_seen = calloc(directory->blocks, 1);
	struct reader reader = { .directory = directory, .set = set, .block_of = block_of, .block_seen = block_seen };

	if (!block_of || !block_seen)
		abort();
	memset(block_of, 0xff, set->count * sizeof(*block_of));
	return read_all(&reader);
}
