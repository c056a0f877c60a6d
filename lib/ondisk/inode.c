/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/inode.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "support/crc32c.h"

#define MAX_BLOCK_NUMBER ((UINT64_C(1) << 48) - 1)
#define MAX_LINKS 65000
#define SECTOR_BITS 9

/* Bits above 32 are added to the signed 32-bit field, so the range is not symmetric. */
#define MIN_SECONDS ((int64_t)INT32_MIN)
#define MAX_SECONDS_OLD ((int64_t)INT32_MAX)
#define MAX_SECONDS (MIN_SECONDS + (INT64_C(1) << (32 + EXT4_EPOCH_BITS)) - 1)

/*
 * From 2310-04-04 to 2378-04-22: until the year 2242, e2fsck takes these for times before 1970 that an old kernel has
 * stored wrongly, and e2fsck -p, which runs at boot, changes them.
 */
#define DOUBTED_SECONDS ((INT64_C(3) << 32) + MIN_SECONDS)
#define DOUBTED_END_SECONDS (INT64_C(3) << 32)

/* Times are clamped as the kernel does, and to before the range that e2fsck doubts. A clamped time loses its
 * nanoseconds, too. */
struct inode_time inode_stored_time(const struct ondisk_format *format, struct inode_time time)
{
	const int64_t max_seconds = format->extra_isize ? MAX_SECONDS : MAX_SECONDS_OLD;

	assert(time.nanoseconds < 1000000000);
	if (time.seconds < MIN_SECONDS)
		return (struct inode_time){ .seconds = MIN_SECONDS };
	if (time.seconds > max_seconds)
		return (struct inode_time){ .seconds = max_seconds };
	if (time.seconds >= DOUBTED_SECONDS && time.seconds < DOUBTED_END_SECONDS)
		return (struct inode_time){ .seconds = DOUBTED_SECONDS - 1 };
	if (!format->extra_isize)
		time.nanoseconds = 0;
	return time;
}

static uint32_t time_low(struct inode_time time)
{
	return htole32((uint32_t)time.seconds);
}

static uint32_t time_extra(struct inode_time time)
{
	uint64_t epoch = (uint64_t)(time.seconds - (int32_t)time.seconds) >> 32;

	return htole32(time.nanoseconds << EXT4_EPOCH_BITS | (epoch & EXT4_EPOCH_MASK));
}

static void encode_times(const struct ondisk_format *format, const struct inode_value *value,
                         struct ext2_inode_large *raw)
{
	struct inode_time atime = inode_stored_time(format, value->atime);
	struct inode_time ctime = inode_stored_time(format, value->ctime);
	struct inode_time mtime = inode_stored_time(format, value->mtime);
	struct inode_time crtime = inode_stored_time(format, value->crtime);

	raw->i_atime = time_low(atime);
	raw->i_ctime = time_low(ctime);
	raw->i_mtime = time_low(mtime);
	if (!format->extra_isize)
		return;
	raw->i_atime_extra = time_extra(atime);
	raw->i_ctime_extra = time_extra(ctime);
	raw->i_mtime_extra = time_extra(mtime);
	raw->i_crtime = time_low(crtime);
	raw->i_crtime_extra = time_extra(crtime);
}

static errcode_t encode_size(const struct ondisk_format *format, const struct inode_value *value,
                             struct ext2_inode_large *raw)
{
	/* The kernel reads the high half only for these. */
	bool wide = S_ISREG(value->mode) || (S_ISDIR(value->mode) && format->large_dir);

	if (value->size_bytes > (wide ? INT64_MAX : UINT32_MAX))
		return EFBIG;
	raw->i_size = htole32((uint32_t)value->size_bytes);
	raw->i_size_high = htole32(value->size_bytes >> 32);
	return 0;
}

/* Counts sectors if they fit; huge_file has 48 bits for them, and counts blocks if even that is too little. */
static errcode_t encode_blocks(const struct ondisk_format *format, uint64_t blocks, struct ext2_inode_large *raw,
                               uint32_t *flags)
{
	unsigned int sector_shift = format->block_bits - SECTOR_BITS;
	uint64_t count = blocks << sector_shift;

	*flags &= ~EXT4_HUGE_FILE_FL;
	if (blocks > MAX_BLOCK_NUMBER)
		return EFBIG;
	if (count > UINT32_MAX && !format->huge_file)
		return EFBIG;
	if (count > MAX_BLOCK_NUMBER) {
		count = blocks;
		*flags |= EXT4_HUGE_FILE_FL;
	}
	raw->i_blocks = htole32((uint32_t)count);
	raw->osd2.linux2.l_i_blocks_hi = htole16(count >> 32);
	return 0;
}

static errcode_t encode_links(const struct ondisk_format *format, const struct inode_value *value,
                              struct ext2_inode_large *raw)
{
	uint32_t links = value->links;

	if (links > MAX_LINKS) {
		if (!S_ISDIR(value->mode) || !format->dir_nlink)
			return EMLINK;
		links = 1; /* means "more than can be counted" */
	}
	raw->i_links_count = htole16(links);
	return 0;
}

errcode_t inode_encode(const struct ondisk_format *format, uint32_t ino, const struct inode_value *value,
                       const void *xattr_area, void *bytes)
{
	struct ext2_inode_large raw = {
		.i_mode = htole16(value->mode),
		.i_uid = htole16(value->uid & 0xffff),
		.i_gid = htole16(value->gid & 0xffff),
		.i_generation = htole32(value->generation),
		.osd1.linux1.l_i_version = htole32(value->version),
		.i_file_acl = htole32((uint32_t)value->xattr_block),
		.osd2.linux2.l_i_file_acl_high = htole16(value->xattr_block >> 32),
		.osd2.linux2.l_i_uid_high = htole16(value->uid >> 16),
		.osd2.linux2.l_i_gid_high = htole16(value->gid >> 16),
		.i_extra_isize = htole16(format->extra_isize),
		.i_projid = htole32(format->project ? value->project : 0),
	};
	uint32_t flags = value->flags;
	uint32_t xattr_bytes = inode_xattr_area_bytes(format);
	size_t raw_bytes = format->extra_isize ? sizeof(raw) : EXT2_GOOD_OLD_INODE_SIZE;

	if (value->xattr_block > MAX_BLOCK_NUMBER)
		return EFBIG;

	errcode_t error = encode_size(format, value, &raw);
	if (error)
		return error;
	error = encode_blocks(format, value->blocks, &raw, &flags);
	if (error)
		return error;
	error = encode_links(format, value, &raw);
	if (error)
		return error;
	raw.i_flags = htole32(flags);
	memcpy(raw.i_block, value->root, INODE_ROOT_BYTES);
	encode_times(format, value, &raw);

	memset(bytes, 0, format->inode_bytes);
	memcpy(bytes, &raw, raw_bytes);
	if (xattr_area && xattr_bytes)
		memcpy((uint8_t *)bytes + format->inode_bytes - xattr_bytes, xattr_area, xattr_bytes);
	if (inode_has_checksum(format)) {
		/* The checksum's two fields are still zero. */
		uint32_t seed = ondisk_inode_seed(format, ino, value->generation);
		uint32_t checksum = crc32c(seed, bytes, format->inode_bytes);

		raw.i_checksum_lo = htole16(checksum & 0xffff);
		raw.i_checksum_hi = htole16(checksum >> 16);
		memcpy(bytes, &raw, raw_bytes);
	}
	return 0;
}

uint32_t inode_xattr_area_bytes(const struct ondisk_format *format)
{
	return format->inode_bytes - EXT2_GOOD_OLD_INODE_SIZE - format->extra_isize;
}

void inode_root_device(uint32_t major, uint32_t minor, uint8_t root[INODE_ROOT_BYTES])
{
	uint32_t words[2] = { 0, 0 };

	assert(major <= INODE_MAX_MAJOR && minor <= INODE_MAX_MINOR);
	if (major < 256 && minor < 256)
		words[0] = htole32(major << 8 | minor);
	else
		words[1] = htole32((minor & 0xff) | major << 8 | (minor & ~UINT32_C(0xff)) << 12);
	memset(root, 0, INODE_ROOT_BYTES);
	memcpy(root, words, sizeof(words));
}
