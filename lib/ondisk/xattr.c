/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Both places have the same form: entries from the front, values from the end. They differ in their headers and in
 * the origin of value offsets, and only blocks are hashed and sorted, since only they are shared and searched. So an
 * xattr takes as many bytes in the inode as in the block.
 */
#include "ondisk/xattr.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <linux/limits.h>
#include <string.h>

#include "ondisk/posix_acl.h"
#include "ondisk/xattr_parts.h"
#include "support/crc32c.h"

#define MAX_NAME_BYTES 255 /* without its prefix */

/* An xattr as on disk, but with its value not yet converted. */
struct stored_xattr {
	const struct xattr *source;
	const char *name; /* after the prefix */
	uint8_t name_bytes;
	uint8_t name_index;
	uint32_t value_bytes; /* on disk */
	bool in_value_inode;
};

static uint64_t padded(uint64_t bytes)
{
	return (bytes + XATTR_UNIT_BYTES - 1) & ~(uint64_t)(XATTR_UNIT_BYTES - 1);
}

static uint64_t entry_bytes(const struct stored_xattr *stored)
{
	return padded(sizeof(struct ext2_ext_attr_entry) + stored->name_bytes);
}

static uint64_t total_bytes(const struct stored_xattr *stored)
{
	return entry_bytes(stored) + (stored->in_value_inode ? 0 : padded(stored->value_bytes));
}

/* Replaces the prefix by its number; a few whole names are numbers. */
static errcode_t resolve_name(const char *whole, struct stored_xattr *stored)
{
	if (strcmp(whole, "system.data") == 0)
		return ENOTSUP; /* it would be taken for the file's inline data */
	for (size_t n = 0; n < XATTR_PREFIXES; n++) {
		const struct xattr_prefix *prefix = &xattr_prefixes[n];
		size_t length = strlen(prefix->text);
		bool is_prefix = prefix->text[length - 1] == '.';

		if (is_prefix ? strncmp(whole, prefix->text, length) != 0 : strcmp(whole, prefix->text) != 0)
			continue;

		size_t name_bytes = strlen(whole + length);

		if (name_bytes > MAX_NAME_BYTES)
			return ERANGE;
		if (is_prefix && name_bytes == 0)
			return EINVAL;
		stored->name = whole + length;
		stored->name_bytes = name_bytes;
		stored->name_index = prefix->index;
		return 0;
	}
	return ENOTSUP;
}

static bool is_acl(const struct stored_xattr *stored)
{
	return stored->name_index == XATTR_INDEX_ACL_ACCESS || stored->name_index == XATTR_INDEX_ACL_DEFAULT;
}

static errcode_t resolve(const struct xattr *list, size_t count, uint64_t in_value_inode,
                         struct stored_xattr stored[XATTR_MAX_COUNT])
{
	if (count > XATTR_MAX_COUNT)
		return E2BIG;
	for (size_t n = 0; n < count; n++) {
		stored[n] = (struct stored_xattr){
			.source = &list[n],
			.value_bytes = list[n].value_bytes,
			.in_value_inode = in_value_inode >> n & 1,
		};

		errcode_t error = resolve_name(list[n].name, &stored[n]);
		if (error)
			return error;
		if (is_acl(&stored[n])) {
			error = posix_acl_measure(list[n].value, list[n].value_bytes, &stored[n].value_bytes);
			if (error)
				return error;
		}
	}
	return 0;
}

static uint64_t bytes_of(const struct stored_xattr *stored, size_t count, uint64_t chosen)
{
	uint64_t bytes = 0;

	for (size_t n = 0; n < count; n++) {
		if (chosen >> n & 1)
			bytes += total_bytes(&stored[n]);
	}
	return bytes;
}

/* Chooses, in the order of the list, each eligible xattr that still fits. */
static uint64_t choose_in_order(const struct stored_xattr *stored, size_t count, uint64_t eligible, uint64_t room)
{
	uint64_t chosen = 0;

	for (size_t n = 0; n < count; n++) {
		if (!(eligible >> n & 1) || total_bytes(&stored[n]) > room)
			continue;
		room -= total_bytes(&stored[n]);
		chosen |= UINT64_C(1) << n;
	}
	return chosen;
}

/*
 * Finds the xattrs that fill the inode's area best. A file's xattrs may fit in no other way, and they did fit at
 * their source, where they may have been set in any order.
 */
static errcode_t choose_fullest(const struct stored_xattr *stored, size_t count, uint64_t eligible, uint64_t room,
                                uint64_t *chosen)
{
	size_t units = room / XATTR_UNIT_BYTES;
	/* [n]: a choice that fills n units; 0: none is known. */
	uint64_t SCOPE_FREE *choices = calloc(units + 1, sizeof(*choices));

	if (!choices)
		return ENOMEM;
	for (size_t n = 0; n < count; n++) {
		uint64_t size = total_bytes(&stored[n]) / XATTR_UNIT_BYTES;

		for (size_t filled = units; eligible >> n & 1 && filled >= size; filled--) {
			if (choices[filled] == 0 && (filled == size || choices[filled - size] != 0))
				choices[filled] = choices[filled - size] | UINT64_C(1) << n;
		}
	}
	*chosen = 0;
	for (size_t filled = units; filled > 0 && *chosen == 0; filled--)
		*chosen = choices[filled];
	return 0;
}

static uint64_t inode_room(const struct ondisk_format *format)
{
	uint64_t area_bytes = inode_xattr_area_bytes(format);
	uint64_t overhead = XATTR_INODE_HEADER_BYTES + XATTR_TERMINATOR_BYTES;

	return area_bytes > overhead ? area_bytes - overhead : 0;
}

static uint64_t block_room(const struct ondisk_format *format)
{
	return format->block_bytes - sizeof(struct ext2_ext_attr_header) - XATTR_TERMINATOR_BYTES;
}

/*
 * Decides where entries go; values in inodes of their own have been chosen before. Entries of such values come last
 * into the inode, so that they always cause an xattr block: e2fsck 1.47.0 takes the target of a short symlink for
 * block numbers if such a value makes i_blocks more than 0 and there is no xattr block.
 */
static errcode_t place_entries(const struct ondisk_format *format, const struct stored_xattr *stored, size_t count,
                               struct xattr_layout *layout)
{
	const uint64_t eligible = ~layout->in_value_inode, room = inode_room(format);
	uint64_t chosen = choose_in_order(stored, count, eligible, room);
	errcode_t error = 0;

	if (bytes_of(stored, count, ~chosen) > block_room(format))
		error = choose_fullest(stored, count, eligible, room, &chosen);
	if (!error && bytes_of(stored, count, ~chosen) > block_room(format))
		error = choose_fullest(stored, count, UINT64_MAX, room, &chosen);
	if (error)
		return error;
	if (bytes_of(stored, count, ~chosen) > block_room(format))
		return E2BIG;
	layout->in_inode = chosen;
	layout->needs_block = bytes_of(stored, count, ~chosen) > 0;
	return 0;
}

/* Chooses the largest value that is not yet in an inode of its own. E2BIG: there is none, or it is too large even for
 * that. */
static errcode_t choose_largest(const struct stored_xattr *stored, size_t count, size_t *chosen)
{
	*chosen = count;
	for (size_t n = 0; n < count; n++) {
		if (stored[n].in_value_inode || stored[n].value_bytes == 0)
			continue;
		if (*chosen == count || stored[n].value_bytes > stored[*chosen].value_bytes)
			*chosen = n;
	}
	return *chosen == count || stored[*chosen].value_bytes > XATTR_SIZE_MAX ? E2BIG : 0;
}

errcode_t xattr_place(const struct ondisk_format *format, const struct xattr *list, size_t count,
                      struct xattr_layout *layout)
{
	struct stored_xattr stored[XATTR_MAX_COUNT];
	errcode_t error = resolve(list, count, 0, stored);

	if (error)
		return error;
	*layout = (struct xattr_layout){ 0 };
	error = place_entries(format, stored, count, layout);
	while (error == E2BIG && format->ea_inode) {
		size_t largest;

		error = choose_largest(stored, count, &largest);
		if (error)
			return error;
		stored[largest].in_value_inode = true;
		layout->in_value_inode |= UINT64_C(1) << largest;
		error = place_entries(format, stored, count, layout);
	}
	return error;
}

/*
 * ext4's hash of an entry: the name, a byte at a time, then the value, a padded word at a time. For a value in an
 * inode of its own, that inode's hash takes its place.
 */
static uint32_t hash_entry(const struct stored_xattr *stored, const uint8_t *value)
{
	uint32_t hash = xattr_hash_name(stored->name, stored->name_bytes);

	return stored->in_value_inode ? xattr_hash_value_inode(hash, stored->source->value_hash) :
	                                xattr_hash_value(hash, value, stored->value_bytes);
}

static void write_value(const struct stored_xattr *stored, uint8_t *value)
{
	if (is_acl(stored))
		posix_acl_encode(stored->source->value, stored->source->value_bytes, value);
	else
		memcpy(value, stored->source->value, stored->value_bytes);
}

errcode_t xattr_value_encode(const struct ondisk_format *format, const struct xattr *xattr, void **disk,
                             uint32_t *disk_bytes, uint32_t *hash)
{
	struct stored_xattr stored[XATTR_MAX_COUNT];
	errcode_t error = resolve(xattr, 1, 0, stored);

	*disk = error ? NULL : malloc(stored->value_bytes);
	if (!*disk)
		return error ? error : ENOMEM;
	write_value(stored, *disk);
	*disk_bytes = stored->value_bytes;
	*hash = crc32c(format->checksum_seed, *disk, stored->value_bytes);
	return 0;
}

/* Writes the value before *end, or the number of the inode that has it. */
static void place_value(const struct stored_xattr *stored, const uint8_t *base, uint8_t **end,
                        struct ext2_ext_attr_entry *raw)
{
	if (stored->in_value_inode) {
		raw->e_value_inum = htole32(stored->source->value_ino);
		return;
	}
	*end -= padded(stored->value_bytes);
	if (stored->value_bytes > 0) {
		write_value(stored, *end);
		raw->e_value_offs = htole16(*end - base);
	}
}

/*
 * Writes entries from `entries` on and their values down from `end`, offsets counted from `base`, into zeroed
 * bytes. Returns the entries' common hash, by which the kernel finds equal blocks; 0 without hashes.
 */
static uint32_t write_entries(const struct stored_xattr *list, size_t count, uint8_t *entries, uint8_t *base,
                              uint8_t *end, bool has_hashes)
{
	uint32_t common_hash = 0;

	for (size_t n = 0; n < count; n++) {
		const struct stored_xattr *stored = &list[n];
		struct ext2_ext_attr_entry raw = {
			.e_name_len = stored->name_bytes,
			.e_name_index = stored->name_index,
			.e_value_size = htole32(stored->value_bytes),
		};

		place_value(stored, base, &end, &raw);
		assert(entries + entry_bytes(stored) + XATTR_TERMINATOR_BYTES <= end);
		/* The kernel checks a value in an inode of its own by its entry's hash, even in the inode's area. */
		if (has_hashes || stored->in_value_inode) {
			uint32_t hash = hash_entry(stored, end);

			raw.e_hash = htole32(hash);
			common_hash = (common_hash << 16 | common_hash >> 16) ^ hash;
		}
		memcpy(entries, &raw, sizeof(raw));
		memcpy(entries + sizeof(raw), stored->name, stored->name_bytes);
		entries += entry_bytes(stored);
	}
	return common_hash;
}

/* Moves the chosen entries to the beginning; returns their number. */
static size_t select_entries(struct stored_xattr *stored, size_t count, uint64_t chosen)
{
	size_t selected_count = 0;

	for (size_t n = 0; n < count; n++) {
		if (chosen >> n & 1)
			stored[selected_count++] = stored[n];
	}
	return selected_count;
}

errcode_t xattr_encode_inode(const struct ondisk_format *format, const struct xattr *list, size_t count,
                             const struct xattr_layout *layout, void *area)
{
	struct stored_xattr stored[XATTR_MAX_COUNT];
	uint32_t magic = htole32(EXT2_EXT_ATTR_MAGIC);
	size_t area_bytes = inode_xattr_area_bytes(format);
	errcode_t error = resolve(list, count, layout->in_value_inode, stored);

	if (error)
		return error;
	memset(area, 0, area_bytes);

	size_t selected_count = select_entries(stored, count, layout->in_inode);
	if (selected_count == 0)
		return 0;

	uint8_t *entries = (uint8_t *)area + XATTR_INODE_HEADER_BYTES;

	memcpy(area, &magic, sizeof(magic));
	write_entries(stored, selected_count, entries, entries, (uint8_t *)area + area_bytes, false);
	return 0;
}

static int compare_stored(const void *one, const void *other)
{
	const struct stored_xattr *left = one, *right = other;

	if (left->name_index != right->name_index)
		return left->name_index - right->name_index;
	if (left->name_bytes != right->name_bytes)
		return left->name_bytes - right->name_bytes;
	return memcmp(left->name, right->name, left->name_bytes);
}

static uint32_t block_checksum(const struct ondisk_format *format, uint64_t block, const void *bytes)
{
	uint64_t raw_block = htole64(block);
	uint32_t checksum = crc32c(format->checksum_seed, &raw_block, sizeof(raw_block));

	return crc32c(checksum, bytes, format->block_bytes); /* the checksum's field is still zero */
}

errcode_t xattr_encode_block(const struct ondisk_format *format, const struct xattr *list, size_t count,
                             const struct xattr_layout *layout, uint64_t block, uint32_t references, void *bytes)
{
	struct stored_xattr stored[XATTR_MAX_COUNT];
	uint8_t *base = bytes;
	errcode_t error = resolve(list, count, layout->in_value_inode, stored);

	if (error)
		return error;
	assert(references >= 1 && references <= XATTR_MAX_REFERENCES);
	memset(bytes, 0, format->block_bytes);

	size_t selected_count = select_entries(stored, count, ~layout->in_inode);

	qsort(stored, selected_count, sizeof(*stored), compare_stored);

	uint32_t hash = write_entries(stored, selected_count, base + sizeof(struct ext2_ext_attr_header), base,
	                              base + format->block_bytes, true);
	struct ext2_ext_attr_header header = {
		.h_magic = htole32(EXT2_EXT_ATTR_MAGIC),
		.h_refcount = htole32(references),
		.h_blocks = htole32(1),
		.h_hash = htole32(hash),
	};

	memcpy(bytes, &header, sizeof(header));
	if (format->checksums) {
		header.h_checksum = htole32(block_checksum(format, block, bytes));
		memcpy(bytes, &header, sizeof(header));
	}
	return 0;
}

static const char data_name[] = "data";

#define DATA_ENTRY_BYTES (sizeof(struct ext2_ext_attr_entry) + sizeof(data_name) - 1)

_Static_assert(DATA_ENTRY_BYTES % EXT2_EXT_ATTR_PAD == 0, "the entry needs no padding");

/* The unused bytes of an xattr area, between its entries and its values; offsets count from the area's start. */
struct gap {
	uint32_t start, end;
};

static struct gap find_gap(const struct ondisk_format *format, const uint8_t *area)
{
	struct gap gap = { .start = XATTR_INODE_HEADER_BYTES, .end = inode_xattr_area_bytes(format) };
	struct ext2_ext_attr_entry entry;
	uint32_t magic;

	if (gap.end < XATTR_INODE_HEADER_BYTES + XATTR_TERMINATOR_BYTES || !area)
		return gap;
	memcpy(&magic, area, sizeof(magic));
	if (!magic)
		return gap;
	for (;; gap.start += EXT2_EXT_ATTR_LEN(entry.e_name_len)) {
		uint32_t first;

		memcpy(&first, area + gap.start, sizeof(first));
		if (!first)
			return gap;
		memcpy(&entry, area + gap.start, sizeof(entry));
		uint32_t value = XATTR_INODE_HEADER_BYTES + le16toh(entry.e_value_offs);

		/* The offset is 0 for an empty value, and for one in an inode of its own. */
		if (entry.e_value_offs && value < gap.end)
			gap.end = value;
	}
}

uint32_t inline_data_room(const struct ondisk_format *format, const void *xattr_area)
{
	struct gap gap = find_gap(format, xattr_area);

	if (!format->inline_data || gap.end < gap.start + DATA_ENTRY_BYTES + XATTR_TERMINATOR_BYTES)
		return 0;
	return INODE_ROOT_BYTES +
	       ((gap.end - gap.start - DATA_ENTRY_BYTES - XATTR_TERMINATOR_BYTES) & ~EXT2_EXT_ATTR_ROUND);
}

void inline_data_encode(const struct ondisk_format *format, const void *data, uint32_t bytes,
                        uint8_t root[INODE_ROOT_BYTES], void *area)
{
	uint8_t *base = area;
	struct gap gap = find_gap(format, area);
	uint32_t root_bytes = bytes < INODE_ROOT_BYTES ? bytes : INODE_ROOT_BYTES;
	uint32_t value_bytes = bytes - root_bytes;
	uint32_t value_start = gap.end - EXT2_EXT_ATTR_SIZE(value_bytes);
	uint32_t magic = htole32(EXT2_EXT_ATTR_MAGIC);
	/* The kernel and e2fsck require the xattr even if i_block holds everything. */
	struct ext2_ext_attr_entry entry = {
		.e_name_len = sizeof(data_name) - 1,
		.e_name_index = XATTR_INDEX_SYSTEM,
		.e_value_size = htole32(value_bytes),
		.e_value_offs = htole16(value_bytes ? value_start - XATTR_INODE_HEADER_BYTES : 0),
	};

	assert(bytes <= inline_data_room(format, area));
	memset(root, 0, INODE_ROOT_BYTES);
	memcpy(root, data, root_bytes);
	memcpy(base, &magic, sizeof(magic));
	memcpy(base + gap.start, &entry, sizeof(entry));
	memcpy(base + gap.start + sizeof(entry), data_name, sizeof(data_name) - 1);
	memcpy(base + value_start, (const uint8_t *)data + root_bytes, value_bytes);
}
