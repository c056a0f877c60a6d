/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/inode.h"

#include <endian.h>
#include <string.h>
#include <sys/stat.h>

#include "support/crc32c.h"

#define SECTOR_BITS 9
#define NANOSECONDS 1000000000

/* Is the field within the inode's i_extra_isize? */
#define HAS_FIELD(inode, field)                                                                                        \
	((inode)->extra_isize >= offsetof(struct ext2_inode_large, field) +                                            \
	                                 sizeof(((struct ext2_inode_large *)0)->field) - EXT2_GOOD_OLD_INODE_SIZE)

static struct inode_time time_of(uint32_t low, uint32_t extra)
{
	uint32_t nanoseconds = le32toh(extra) >> EXT4_EPOCH_BITS;

	return (struct inode_time){
		.seconds = (int32_t)le32toh(low) + ((int64_t)(le32toh(extra) & EXT4_EPOCH_MASK) << 32),
		.nanoseconds = nanoseconds < NANOSECONDS ? nanoseconds : 0,
	};
}

static void decode_times(const struct ext2_inode_large *raw, struct inode_decoded *inode)
{
	struct inode_value *value = &inode->value;

	value->ctime = time_of(raw->i_ctime, HAS_FIELD(inode, i_ctime_extra) ? raw->i_ctime_extra : 0);
	value->mtime = time_of(raw->i_mtime, HAS_FIELD(inode, i_mtime_extra) ? raw->i_mtime_extra : 0);
	value->atime = time_of(raw->i_atime, HAS_FIELD(inode, i_atime_extra) ? raw->i_atime_extra : 0);
	inode->has_crtime = HAS_FIELD(inode, i_crtime);
	if (inode->has_crtime)
		value->crtime = time_of(raw->i_crtime, HAS_FIELD(inode, i_crtime_extra) ? raw->i_crtime_extra : 0);
}

static uint64_t blocks_of(const struct ondisk_format *format, const struct ext2_inode_large *raw, uint32_t flags)
{
	uint64_t count = le32toh(raw->i_blocks);

	if (!format->huge_file)
		return count >> (format->block_bits - SECTOR_BITS);
	count |= (uint64_t)le16toh(raw->osd2.linux2.l_i_blocks_hi) << 32;
	return flags & EXT4_HUGE_FILE_FL ? count : count >> (format->block_bits - SECTOR_BITS);
}

/* If i_extra_isize is too large or not aligned, only the fields of the first 128 bytes are valid. */
static uint16_t extra_isize_of(const struct ondisk_format *format, const struct ext2_inode_large *raw)
{
	uint16_t extra_isize = le16toh(raw->i_extra_isize);

	return format->inode_bytes > EXT2_GOOD_OLD_INODE_SIZE && extra_isize % 4 == 0 &&
	                       extra_isize <= format->inode_bytes - EXT2_GOOD_OLD_INODE_SIZE ?
	               extra_isize :
	               0;
}

static void read_raw(const struct ondisk_format *format, const void *bytes, struct ext2_inode_large *raw)
{
	*raw = (struct ext2_inode_large){ 0 };
	memcpy(raw, bytes, format->inode_bytes < sizeof(*raw) ? format->inode_bytes : sizeof(*raw));
}

void inode_decode(const struct ondisk_format *format, const void *bytes, struct inode_decoded *inode)
{
	struct ext2_inode_large raw;

	read_raw(format, bytes, &raw);
	uint16_t mode = le16toh(raw.i_mode);
	uint32_t flags = le32toh(raw.i_flags);
	/* In directories of old filesystems the high half was the number of an ACL block. */
	bool is_wide = S_ISREG(mode) || format->large_dir;

	*inode = (struct inode_decoded){
		.value = {
			.mode = mode,
			.uid = le16toh(raw.i_uid) | (uint32_t)le16toh(raw.osd2.linux2.l_i_uid_high) << 16,
			.gid = le16toh(raw.i_gid) | (uint32_t)le16toh(raw.osd2.linux2.l_i_gid_high) << 16,
			.size_bytes = le32toh(raw.i_size) | (is_wide ? (uint64_t)le32toh(raw.i_size_high) << 32 : 0),
			.links = le16toh(raw.i_links_count),
			.blocks = blocks_of(format, &raw, flags),
			.flags = flags,
			.generation = le32toh(raw.i_generation),
			.version = le32toh(raw.osd1.linux1.l_i_version),
			.xattr_block = ondisk_xattr_block(format, le32toh(raw.i_file_acl),
			                                 le16toh(raw.osd2.linux2.l_i_file_acl_high)),
		},
		.extra_isize = extra_isize_of(format, &raw),
		.deletion_time = le32toh(raw.i_dtime),
	};
	memcpy(inode->value.root, raw.i_block, INODE_ROOT_BYTES);
	if (format->project && HAS_FIELD(inode, i_projid))
		inode->value.project = le32toh(raw.i_projid);
	decode_times(&raw, inode);
}

static bool is_zero(const void *bytes, size_t count)
{
	const uint8_t *at = bytes;

	return !count || (!*at && !memcmp(at, at + 1, count - 1));
}

bool inode_checksum_fits(const struct ondisk_format *format, uint32_t ino, const void *bytes)
{
	const uint8_t none[2] = { 0 };
	const size_t low = offsetof(struct ext2_inode_large, osd2.linux2.l_i_checksum_lo);
	const size_t high = offsetof(struct ext2_inode_large, i_checksum_hi);
	const uint8_t *at = bytes;
	struct ext2_inode_large raw;

	if (!inode_has_checksum(format))
		return true;
	read_raw(format, bytes, &raw);
	bool has_high = le16toh(raw.i_extra_isize) >= high + sizeof(none) - EXT2_GOOD_OLD_INODE_SIZE &&
	                format->inode_bytes > EXT2_GOOD_OLD_INODE_SIZE;
	uint32_t found =
		le16toh(raw.osd2.linux2.l_i_checksum_lo) | (has_high ? (uint32_t)le16toh(raw.i_checksum_hi) << 16 : 0);
	uint32_t checksum = ondisk_inode_seed(format, ino, le32toh(raw.i_generation));
	size_t next = low + sizeof(none);

	checksum = crc32c(crc32c(checksum, at, low), none, sizeof(none));
	if (has_high) {
		checksum = crc32c(crc32c(checksum, at + next, high - next), none, sizeof(none));
		next = high + sizeof(none);
	}
	checksum = crc32c(checksum, at + next, format->inode_bytes - next);
	if (!has_high)
		checksum &= UINT16_MAX;
	return found == checksum || is_zero(bytes, format->inode_bytes);
}

void inode_root_read_device(const uint8_t root[INODE_ROOT_BYTES], uint32_t *major, uint32_t *minor)
{
	uint32_t words[2];

	memcpy(words, root, sizeof(words));
	uint32_t old = le32toh(words[0]), new = le32toh(words[1]);

	*major = old ? old >> 8 & 0xff : new >> 8 & 0xfff;
	*minor = old ? old & 0xff : (new & 0xff) | (new >> 12 & 0xfff00);
}
