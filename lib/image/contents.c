/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/contents.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define RECORDS 64 /* map records that are read at once */

static errcode_t lose(struct map_walker *walker, const struct volume_inode *inode, const char *what)
{
	walker->losses++;
	damage_tell(&walker->damage, inode->ino, 0, what);
	return EUCLEAN;
}

/* Copies the part of source that lies in the wanted piece. source_at is the source's offset in the file, in bytes. */
static void copy_part(uint8_t *bytes, uint64_t offset, size_t count, const uint8_t *source, uint64_t source_at,
                      size_t source_bytes)
{
	uint64_t from = offset > source_at ? offset : source_at;
	uint64_t end = offset + count < source_at + source_bytes ? offset + count : source_at + source_bytes;

	if (from < end)
		memcpy(bytes + (from - offset), source + (from - source_at), (size_t)(end - from));
}

/* mke2fs -d stores no hole at the end of a file: the missing bytes are zeros, for the kernel, too. */
static errcode_t read_inline(struct map_walker *walker, const struct volume_inode *inode, uint64_t offset,
                             uint8_t *bytes, size_t count)
{
	size_t rest_bytes;
	const uint8_t *rest = inode_view_inline_rest(&walker->volume->format, inode->raw, &rest_bytes);

	if (!rest)
		return lose(walker, inode, "inline data");
	copy_part(bytes, offset, count, inode->view.root, 0, INODE_ROOT_BYTES);
	copy_part(bytes, offset, count, rest, INODE_ROOT_BYTES, rest_bytes);
	return 0;
}

/* Reads the wanted part of a record: whole blocks at once, others through a buffer of one block. */
static errcode_t read_record(const struct volume *volume, const struct map_record *record, uint8_t *buffer,
                             uint64_t offset, uint8_t *bytes, size_t count)
{
	unsigned int block_bits = volume->format.block_bits;

	for (uint32_t n = 0; n < record->count;) {
		uint64_t at = (record->logical + n) << block_bits;
		uint64_t whole = at >= offset && at < offset + count ? (offset + count - at) >> block_bits : 0;
		bool is_direct = whole;
		uint32_t blocks = !is_direct ? 1 : whole < record->count - n ? (uint32_t)whole : record->count - n;

		if (at >= offset + count)
			return 0;
		errcode_t error =
			volume_read(volume, record->physical + n, blocks, is_direct ? bytes + (at - offset) : buffer);

		if (error)
			return error;
		if (!is_direct)
			copy_part(bytes, offset, count, buffer, at, volume->format.block_bytes);
		n += blocks;
	}
	return 0;
}

/*
 * The kernel reads symlinks and the values of xattrs as metadata, by ext4_bread(), which takes a block as it lies on
 * the disk. Only the page cache, through which it reads contents of files, has zeros where an extent is unwritten.
 */
static bool reads_unwritten(const struct inode_view *inode)
{
	return S_ISLNK(inode->mode) || (inode->flags & EXT4_EA_INODE_FL);
}

static errcode_t read_blocks(struct map_walker *walker, const struct volume_inode *inode, uint64_t offset,
                             uint8_t *bytes, size_t count)
{
	const struct volume *volume = walker->volume;
	unsigned int block_bits = volume->format.block_bits;
	uint64_t logical = offset >> block_bits, end = (offset + count + volume->format.block_bytes - 1) >> block_bits;
	SCOPE_FREE uint8_t *buffer = malloc(volume->format.block_bytes);
	SCOPE_FREE struct map_record *records = malloc(RECORDS * sizeof(*records));

	if (!buffer || !records)
		return ENOMEM;
	for (size_t found = RECORDS; found == RECORDS && logical < end;) {
		uint64_t losses = walker->losses;

		found = map_records(walker, inode->ino, &inode->view, logical, records, RECORDS);
		if (walker->losses != losses)
			return EUCLEAN;
		for (size_t n = 0; n < found && records[n].logical < end; n++) {
			errcode_t error = records[n].is_unwritten && !reads_unwritten(&inode->view) ?
			                          0 :
			                          read_record(volume, &records[n], buffer, offset, bytes, count);

			if (error)
				return error;
		}
		if (found)
			logical = records[found - 1].logical + records[found - 1].count;
	}
	return 0;
}

errcode_t contents_read(struct map_walker *walker, const struct volume_inode *inode, uint64_t offset, void *bytes,
                        size_t count)
{
	uint64_t size_bytes = inode->all.value.size_bytes;

	memset(bytes, 0, count);
	if (offset >= size_bytes)
		return 0;
	count = size_bytes - offset < count ? (size_t)(size_bytes - offset) : count;
	if (inode->view.flags & EXT4_INLINE_DATA_FL)
		return read_inline(walker, inode, offset, bytes, count);
	if (volume_inode_has_map(inode))
		return read_blocks(walker, inode, offset, bytes, count);
	copy_part(bytes, offset, count, inode->view.root, 0, INODE_ROOT_BYTES);
	return 0;
}

errcode_t symlink_read(struct map_walker *walker, const struct volume_inode *inode, char **target, size_t *bytes)
{
	uint64_t size_bytes = inode->all.value.size_bytes;

	*target = NULL;
	if (!size_bytes || size_bytes > walker->volume->format.block_bytes)
		return lose(walker, inode, "size of a symlink");
	SCOPE_FREE char *text = calloc(1, (size_t)size_bytes + 1);

	if (!text)
		return ENOMEM;
	errcode_t error = contents_read(walker, inode, 0, text, (size_t)size_bytes);

	if (error)
		return error;
	if (!(inode->view.flags & EXT4_ENCRYPT_FL) && memchr(text, '\0', (size_t)size_bytes))
		return lose(walker, inode, "target of a symlink");
	*bytes = (size_t)size_bytes;
	*target = TAKE(text);
	return 0;
}
