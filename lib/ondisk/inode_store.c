/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/inode_store.h"

#include <errno.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

/* An inode's place. */
struct place {
	uint32_t *written; /* of its group */
	uint32_t index;    /* in its group */
	uint32_t in_block; /* inodes per block */
	uint64_t table, block;
	uint32_t offset; /* bytes in the block */
};

static errcode_t find(struct block_access *access, uint32_t ino, struct place *place)
{
	const struct ondisk_format *format = access->format;

	if (!ino || ino > access->inodes)
		return EXT2_ET_BAD_INODE_NUM;
	uint32_t group = (ino - 1) / access->inodes_per_group, index = (ino - 1) % access->inodes_per_group;
	uint64_t table = access->inode_table(access, group);

	if (!table)
		return EXT2_ET_BAD_INODE_NUM;
	*place = (struct place){
		.written = access->written_inodes(access, group),
		.index = index,
		.in_block = format->block_bytes / format->inode_bytes,
		.table = table,
	};
	place->block = table + index / place->in_block;
	place->offset = index % place->in_block * format->inode_bytes;
	return 0;
}

/* Reads the block; what has never been written of it becomes zeros. */
static errcode_t read_block(struct block_access *access, const struct place *place, uint64_t block, uint8_t *bytes)
{
	uint64_t first = (block - place->table) * place->in_block;
	uint32_t written = *place->written;
	size_t known = written > first ? (size_t)(written - first) * access->format->inode_bytes : 0;

	if (known >= access->format->block_bytes)
		return access->read(access, block, bytes);
	errcode_t error = known ? access->read(access, block, bytes) : 0;

	if (!error)
		memset(bytes + known, 0, access->format->block_bytes - known);
	return error;
}

errcode_t inode_store_read(struct block_access *access, uint32_t ino, void *raw, struct inode_decoded *inode)
{
	const struct ondisk_format *format = access->format;
	SCOPE_FREE uint8_t *bytes = malloc(format->block_bytes);
	struct place place;

	if (!bytes)
		return ENOMEM;
	errcode_t error = find(access, ino, &place);

	if (!error)
		error = read_block(access, &place, place.block, bytes);
	if (error)
		return error;
	memcpy(raw, bytes + place.offset, format->inode_bytes);
	if (!inode_checksum_fits(format, ino, raw))
		return EXT2_ET_INODE_CSUM_INVALID;
	inode_decode(format, raw, inode);
	return 0;
}

/* Writes zeros into blocks of the table before the inode's that have never been written. */
static errcode_t fill_up(struct block_access *access, const struct place *place, uint8_t *bytes)
{
	errcode_t error = 0;

	for (uint64_t block = place->table + *place->written / place->in_block; !error && block < place->block;
	     block++) {
		error = read_block(access, place, block, bytes);
		if (!error)
			error = access->write(access, block, bytes);
	}
	return error;
}

errcode_t inode_store_write(struct block_access *access, uint32_t ino, const void *raw)
{
	SCOPE_FREE uint8_t *bytes = malloc(access->format->block_bytes);
	struct place place;

	if (!bytes)
		return ENOMEM;
	errcode_t error = find(access, ino, &place);

	if (!error)
		error = fill_up(access, &place, bytes);
	if (!error)
		error = read_block(access, &place, place.block, bytes);
	if (error)
		return error;
	memcpy(bytes + place.offset, raw, access->format->inode_bytes);
	error = access->write(access, place.block, bytes);
	if (!error && place.index >= *place.written)
		*place.written = place.index + 1;
	return error;
}

errcode_t inode_store_change(struct block_access *access, uint32_t ino, const struct inode_decoded *now)
{
	SCOPE_FREE uint8_t *raw = malloc(access->format->inode_bytes);
	struct inode_decoded old;

	if (!raw)
		return ENOMEM;
	errcode_t error = inode_store_read(access, ino, raw, &old);

	if (!error)
		error = inode_change(access->format, ino, now, raw);
	return error ? error : inode_store_write(access, ino, raw);
}
