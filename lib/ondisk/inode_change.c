/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/inode_change.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "support/crc32c.h"

/* The checksum's fields are zeros while it is computed. */
void inode_checksum_write(const struct ondisk_format *format, uint32_t ino, void *bytes)
{
	struct ext2_inode_large raw = { 0 };
	size_t raw_bytes = format->inode_bytes < sizeof(raw) ? format->inode_bytes : sizeof(raw);
	const size_t high_end = offsetof(struct ext2_inode_large, i_checksum_hi) + sizeof(raw.i_checksum_hi);

	if (!inode_has_checksum(format))
		return;
	memcpy(&raw, bytes, raw_bytes);
	bool has_high = format->inode_bytes > EXT2_GOOD_OLD_INODE_SIZE &&
	                le16toh(raw.i_extra_isize) >= high_end - EXT2_GOOD_OLD_INODE_SIZE;

	raw.osd2.linux2.l_i_checksum_lo = 0;
	if (has_high)
		raw.i_checksum_hi = 0;
	memcpy(bytes, &raw, raw_bytes);
	uint32_t checksum =
		crc32c(ondisk_inode_seed(format, ino, le32toh(raw.i_generation)), bytes, format->inode_bytes);

	raw.osd2.linux2.l_i_checksum_lo = htole16(checksum & UINT16_MAX);
	if (has_high)
		raw.i_checksum_hi = htole16(checksum >> 16);
	memcpy(bytes, &raw, raw_bytes);
}

uint32_t inode_next_generation(const void *bytes)
{
	struct ext2_inode raw;

	memcpy(&raw, bytes, sizeof(raw));
	return le32toh(raw.i_generation) + 1;
}

/* The new bytes of all fields, as for a new inode; extra fields are written if the old inode has room for them. */
struct change {
	const struct inode_value *old, *now;
	struct ext2_inode_large *raw;
	const struct ext2_inode_large *made;
	uint16_t extra_isize;
	bool is_64bit;
};

static bool is_same_time(struct inode_time one, struct inode_time other)
{
	return one.seconds == other.seconds && one.nanoseconds == other.nanoseconds;
}

static bool has_room(const struct change *change, size_t offset, size_t bytes)
{
	return offset + bytes <= EXT2_GOOD_OLD_INODE_SIZE + (size_t)change->extra_isize;
}

#define COPY_EXTRA(change, field)                                                                                      \
	do {                                                                                                           \
		if (has_room(change, offsetof(struct ext2_inode_large, field), sizeof((change)->raw->field)))          \
			(change)->raw->field = (change)->made->field;                                                  \
	} while (0)

static void change_times(struct change *change)
{
	if (!is_same_time(change->old->atime, change->now->atime)) {
		change->raw->i_atime = change->made->i_atime;
		COPY_EXTRA(change, i_atime_extra);
	}
	if (!is_same_time(change->old->ctime, change->now->ctime)) {
		change->raw->i_ctime = change->made->i_ctime;
		COPY_EXTRA(change, i_ctime_extra);
	}
	if (!is_same_time(change->old->mtime, change->now->mtime)) {
		change->raw->i_mtime = change->made->i_mtime;
		COPY_EXTRA(change, i_mtime_extra);
	}
	if (!is_same_time(change->old->crtime, change->now->crtime)) {
		COPY_EXTRA(change, i_crtime);
		COPY_EXTRA(change, i_crtime_extra);
	}
}

static void change_owners(struct change *change)
{
	struct ext2_inode_large *raw = change->raw;
	const struct ext2_inode_large *made = change->made;

	if (change->old->uid != change->now->uid) {
		raw->i_uid = made->i_uid;
		raw->osd2.linux2.l_i_uid_high = made->osd2.linux2.l_i_uid_high;
	}
	if (change->old->gid != change->now->gid) {
		raw->i_gid = made->i_gid;
		raw->osd2.linux2.l_i_gid_high = made->osd2.linux2.l_i_gid_high;
	}
	if (change->old->project != change->now->project)
		COPY_EXTRA(change, i_projid);
}

static void change_contents(struct change *change)
{
	const struct inode_value *old = change->old, *now = change->now;
	struct ext2_inode_large *raw = change->raw;
	const struct ext2_inode_large *made = change->made;
	const uint32_t huge = htole32(EXT4_HUGE_FILE_FL);

	if (old->size_bytes != now->size_bytes) {
		raw->i_size = made->i_size;
		raw->i_size_high = made->i_size_high;
	}
	if (old->flags != now->flags)
		raw->i_flags = (made->i_flags & ~huge) | (raw->i_flags & huge);
	if (old->blocks != now->blocks) {
		raw->i_blocks = made->i_blocks;
		raw->osd2.linux2.l_i_blocks_hi = made->osd2.linux2.l_i_blocks_hi;
		raw->i_flags = (raw->i_flags & ~huge) | (made->i_flags & huge);
	}
	if (old->xattr_block != now->xattr_block) {
		raw->i_file_acl = made->i_file_acl;
		if (change->is_64bit)
			raw->osd2.linux2.l_i_file_acl_high = made->osd2.linux2.l_i_file_acl_high;
	}
	memcpy(raw->i_block, now->root, INODE_ROOT_BYTES);
}

static void change_rest(struct change *change)
{
	const struct inode_value *old = change->old, *now = change->now;
	struct ext2_inode_large *raw = change->raw;

	if (old->mode != now->mode)
		raw->i_mode = change->made->i_mode;
	if (old->links != now->links)
		raw->i_links_count = change->made->i_links_count;
	if (old->generation != now->generation)
		raw->i_generation = change->made->i_generation;
	if (old->version != now->version)
		raw->osd1.linux1.l_i_version = change->made->osd1.linux1.l_i_version;
}

/*
 * What inode_encode() refuses although the value has not changed, such as the size that the kernel reads of a damaged
 * inode, is no reason to refuse another change.
 */
static struct inode_value encodable(const struct inode_value *old, const struct inode_value *now)
{
	struct inode_value value = *now;

	if (value.size_bytes == old->size_bytes)
		value.size_bytes = 0;
	if (value.blocks == old->blocks)
		value.blocks = 0;
	if (value.links == old->links)
		value.links = 0;
	if (value.xattr_block == old->xattr_block)
		value.xattr_block = 0;
	return value;
}

errcode_t inode_change(const struct ondisk_format *format, uint32_t ino, const struct inode_decoded *now, void *bytes)
{
	struct ext2_inode_large raw = { 0 }, made = { 0 };
	size_t raw_bytes = format->inode_bytes < sizeof(raw) ? format->inode_bytes : sizeof(raw);
	SCOPE_FREE uint8_t *encoded = malloc(format->inode_bytes);
	struct ondisk_format plain = *format;
	struct inode_decoded old;

	if (!encoded)
		return ENOMEM;
	plain.checksums = false;
	inode_decode(format, bytes, &old);
	const struct inode_value value = encodable(&old.value, &now->value);
	errcode_t error = inode_encode(&plain, ino, &value, NULL, encoded);

	if (error)
		return error;
	memcpy(&raw, bytes, raw_bytes);
	memcpy(&made, encoded, raw_bytes);
	struct change change = { &old.value, &now->value, &raw, &made, old.extra_isize, format->is_64bit };

	if (old.value.project != now->value.project &&
	    !has_room(&change, offsetof(struct ext2_inode_large, i_projid), sizeof(raw.i_projid)))
		return EOVERFLOW;
	change_times(&change);
	change_owners(&change);
	change_contents(&change);
	change_rest(&change);
	if (old.deletion_time != now->deletion_time)
		raw.i_dtime = htole32(now->deletion_time);
	memcpy(bytes, &raw, raw_bytes);
	inode_checksum_write(format, ino, bytes);
	return 0;
}

errcode_t inode_change_area(const struct ondisk_format *format, uint32_t ino, const struct inode_decoded *now,
                            const void *area, void *bytes)
{
	struct ondisk_format own = *format;

	own.extra_isize = now->extra_isize;
	uint32_t area_bytes = inode_xattr_area_bytes(&own);
	errcode_t error = inode_change(format, ino, now, bytes);

	if (error)
		return error;
	memcpy((uint8_t *)bytes + format->inode_bytes - area_bytes, area, area_bytes);
	inode_checksum_write(format, ino, bytes);
	return 0;
}
