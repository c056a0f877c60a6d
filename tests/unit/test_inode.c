/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inodes read back field by field, and in real filesystems by libext2fs, e2fsck and the kernel. */
#include "ondisk/inode.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "ondisk/file_map.h"
#include "ondisk_image.h"
#include "unit.h"

#define YEAR_2310 INT64_C(10737418240) /* 2.5 * 2^32: e2fsck's doubts begin here, and end half of 2^32 later */
#define YEAR_2378 INT64_C(12884901888)
#define LAST_SECOND ((INT64_C(1) << 34) - (INT64_C(1) << 31) - 1)

static struct ondisk_format format_of(uint16_t inode_bytes)
{
	return (struct ondisk_format){
		.block_bytes = 4096,
		.block_bits = 12,
		.inode_bytes = inode_bytes,
		.extra_isize = inode_bytes > 128 ? 32 : 0,
		.checksums = true,
		.is_64bit = true,
		.extents = true,
		.dir_nlink = true,
		.huge_file = true,
	};
}

static struct inode_value plain_value(void)
{
	return (struct inode_value){ .mode = S_IFREG | 0640, .links = 1, .generation = 77 };
}

/* From the order of bytes in images to this machine's: the fields that are looked at. */
static void to_host_order(struct ext2_inode_large *raw)
{
	uint32_t *const words[] = {
		&raw->i_size,  &raw->i_size_high,   &raw->i_flags,  &raw->i_generation,   &raw->i_file_acl,
		&raw->i_atime, &raw->i_atime_extra, &raw->i_ctime,  &raw->i_ctime_extra,  &raw->i_blocks,
		&raw->i_mtime, &raw->i_mtime_extra, &raw->i_crtime, &raw->i_crtime_extra,
	};
	uint16_t *const halves[] = {
		&raw->i_mode,
		&raw->i_uid,
		&raw->i_gid,
		&raw->i_links_count,
		&raw->i_extra_isize,
		&raw->osd2.linux2.l_i_uid_high,
		&raw->osd2.linux2.l_i_gid_high,
		&raw->osd2.linux2.l_i_file_acl_high,
		&raw->osd2.linux2.l_i_blocks_hi,
	};

	for (size_t n = 0; n < sizeof(words) / sizeof(*words); n++)
		*words[n] = le32toh(*words[n]);
	for (size_t n = 0; n < sizeof(halves) / sizeof(*halves); n++)
		*halves[n] = le16toh(*halves[n]);
}

static errcode_t encode(const struct ondisk_format *format, const struct inode_value *value,
                        struct ext2_inode_large *raw)
{
	uint8_t bytes[1024];

	memset(bytes, 0xa5, sizeof(bytes));
	errcode_t error = inode_encode(format, 12, value, NULL, bytes);

	if (error)
		return error;
	for (size_t n = format->inode_bytes; n < sizeof(bytes); n++)
		ck_assert_uint_eq(bytes[n], 0xa5);
	for (size_t n = sizeof(*raw); n < format->inode_bytes; n++)
		ck_assert_uint_eq(bytes[n], 0);
	memset(raw, 0, sizeof(*raw));
	memcpy(raw, bytes, format->inode_bytes < sizeof(*raw) ? format->inode_bytes : sizeof(*raw));
	to_host_order(raw);
	return 0;
}

/* As Documentation/filesystems/ext4/inodes.rst describes the two fields. */
static struct inode_time decode_time(uint32_t low, uint32_t extra)
{
	return (struct inode_time){ (int32_t)low + (int64_t)(extra & 3) * (INT64_C(1) << 32), extra >> 2 };
}

static const struct {
	struct inode_time in, large, small;
} times[] = {
	{ { 0, 0 }, { 0, 0 }, { 0, 0 } },
	{ { 1700000000, 999999999 }, { 1700000000, 999999999 }, { 1700000000, 0 } },
	{ { -1, 5 }, { -1, 5 }, { -1, 0 } },
	{ { INT32_MIN, 6 }, { INT32_MIN, 6 }, { INT32_MIN, 0 } },
	{ { INT64_C(-2147483649), 7 }, { INT32_MIN, 0 }, { INT32_MIN, 0 } },
	{ { INT32_MAX, 8 }, { INT32_MAX, 8 }, { INT32_MAX, 0 } },
	{ { INT64_C(2147483648), 9 }, { INT64_C(2147483648), 9 }, { INT32_MAX, 0 } },
	{ { INT64_C(4294967296), 1 }, { INT64_C(4294967296), 1 }, { INT32_MAX, 0 } },
	{ { YEAR_2310, 2 }, { YEAR_2310 - 1, 0 }, { INT32_MAX, 0 } },
	{ { LAST_SECOND, 3 }, { LAST_SECOND, 3 }, { INT32_MAX, 0 } },
	{ { LAST_SECOND + 1, 4 }, { LAST_SECOND, 0 }, { INT32_MAX, 0 } },
	{ { INT64_MAX, 4 }, { LAST_SECOND, 0 }, { INT32_MAX, 0 } },
	{ { INT64_MIN, 4 }, { INT32_MIN, 0 }, { INT32_MIN, 0 } },
	{ { YEAR_2310 - 1, 2 }, { YEAR_2310 - 1, 2 }, { INT32_MAX, 0 } },
	{ { YEAR_2378 - 1, 2 }, { YEAR_2310 - 1, 0 }, { INT32_MAX, 0 } },
	{ { YEAR_2378, 2 }, { YEAR_2378, 2 }, { INT32_MAX, 0 } },
};
#define TIMES (sizeof(times) / sizeof(times[0]))

static void expect_time(uint32_t low, uint32_t extra, struct inode_time expected)
{
	struct inode_time found = decode_time(low, extra);

	ck_assert_int_eq(found.seconds, expected.seconds);
	ck_assert_uint_eq(found.nanoseconds, expected.nanoseconds);
}

START_TEST(times_are_kept_or_clamped)
{
	for (size_t n = 0; n < TIMES; n++) {
		/* Four different ones, so that no field can be another's. */
		size_t a = n, c = (n + 1) % TIMES, m = (n + 2) % TIMES, cr = (n + 3) % TIMES;
		struct ondisk_format large = format_of(256), small = format_of(128);
		struct inode_value value = plain_value();
		struct ext2_inode_large raw;

		value.atime = times[a].in;
		value.ctime = times[c].in;
		value.mtime = times[m].in;
		value.crtime = times[cr].in;
		ck_assert_int_eq(encode(&large, &value, &raw), 0);
		expect_time(raw.i_atime, raw.i_atime_extra, times[a].large);
		expect_time(raw.i_ctime, raw.i_ctime_extra, times[c].large);
		expect_time(raw.i_mtime, raw.i_mtime_extra, times[m].large);
		expect_time(raw.i_crtime, raw.i_crtime_extra, times[cr].large);
		ck_assert_int_eq(encode(&small, &value, &raw), 0);
		expect_time(raw.i_atime, 0, times[a].small);
		expect_time(raw.i_ctime, 0, times[c].small);
		expect_time(raw.i_mtime, 0, times[m].small);
	}
}
END_TEST

START_TEST(plain_fields)
{
	struct ondisk_format format = format_of(256);
	struct inode_value value = plain_value();
	struct ext2_inode_large raw;

	value.uid = 0x12345678;
	value.gid = 0x9abcdef0;
	value.size_bytes = 0x123456789aULL;
	value.flags = EXT4_EXTENTS_FL | EXT2_NOATIME_FL;
	value.generation = 0xcafef00d;
	value.xattr_block = 0xfedc87654321ULL;
	memset(value.root, 0x3c, sizeof(value.root));
	ck_assert_int_eq(encode(&format, &value, &raw), 0);
	ck_assert_uint_eq(raw.i_mode, S_IFREG | 0640);
	ck_assert_uint_eq(inode_uid(raw), 0x12345678);
	ck_assert_uint_eq(inode_gid(raw), 0x9abcdef0);
	ck_assert_uint_eq(raw.i_size, 0x3456789a);
	ck_assert_uint_eq(raw.i_size_high, 0x12);
	ck_assert_uint_eq(raw.i_flags, EXT4_EXTENTS_FL | EXT2_NOATIME_FL);
	ck_assert_uint_eq(raw.i_generation, 0xcafef00d);
	ck_assert_uint_eq(raw.i_file_acl, 0x87654321);
	ck_assert_uint_eq(raw.osd2.linux2.l_i_file_acl_high, 0xfedc);
	ck_assert_mem_eq(raw.i_block, value.root, INODE_ROOT_BYTES);
	ck_assert_uint_eq(raw.i_extra_isize, 32);
	ck_assert_uint_eq(raw.i_dtime | raw.i_faddr | raw.osd1.linux1.l_i_version | raw.i_version_hi | raw.i_projid, 0);
	value.xattr_block = UINT64_C(1) << 48;
	ck_assert_int_eq(encode(&format, &value, &raw), EFBIG);
}
END_TEST

START_TEST(sizes_by_type)
{
	struct ondisk_format format = format_of(256);
	struct inode_value value = plain_value();
	struct ext2_inode_large raw;

	value.size_bytes = UINT64_C(1) << 32;
	value.mode = S_IFDIR | 0755;
	ck_assert_int_eq(encode(&format, &value, &raw), EFBIG);
	format.large_dir = true;
	ck_assert_int_eq(encode(&format, &value, &raw), 0);
	ck_assert_uint_eq(raw.i_size_high, 1);
	value.mode = S_IFLNK | 0777;
	ck_assert_int_eq(encode(&format, &value, &raw), EFBIG);
	value.mode = S_IFREG;
	value.size_bytes = INT64_MAX;
	ck_assert_int_eq(encode(&format, &value, &raw), 0);
	value.size_bytes++;
	ck_assert_int_eq(encode(&format, &value, &raw), EFBIG);
}
END_TEST

START_TEST(block_counts_change_their_unit)
{
	struct ondisk_format format = format_of(256);
	struct inode_value value = plain_value();
	struct ext2_inode_large raw;
	uint64_t most_sectors = (UINT64_C(1) << 48) - 1;

	value.blocks = most_sectors / 8;
	ck_assert_int_eq(encode(&format, &value, &raw), 0);
	ck_assert_uint_eq(raw.i_flags & EXT4_HUGE_FILE_FL, 0);
	ck_assert_uint_eq(raw.i_blocks, 0xfffffff8);
	ck_assert_uint_eq(raw.osd2.linux2.l_i_blocks_hi, 0xffff);
	value.blocks++;
	ck_assert_int_eq(encode(&format, &value, &raw), 0);
	ck_assert_uint_eq(raw.i_flags & EXT4_HUGE_FILE_FL, EXT4_HUGE_FILE_FL);
	ck_assert_uint_eq(raw.i_blocks, 0);
	ck_assert_uint_eq(raw.osd2.linux2.l_i_blocks_hi, 0x2000);
	value.blocks = UINT64_C(1) << 48;
	ck_assert_int_eq(encode(&format, &value, &raw), EFBIG);
	value.blocks = UINT64_MAX;
	ck_assert_int_eq(encode(&format, &value, &raw), EFBIG);

	format.huge_file = false;
	value.blocks = UINT32_MAX / 8;
	ck_assert_int_eq(encode(&format, &value, &raw), 0);
	value.blocks++;
	ck_assert_int_eq(encode(&format, &value, &raw), EFBIG);
}
END_TEST

START_TEST(link_counts)
{
	struct ondisk_format format = format_of(256);
	struct inode_value value = plain_value();
	struct ext2_inode_large raw;

	value.links = 65000;
	ck_assert_int_eq(encode(&format, &value, &raw), 0);
	ck_assert_uint_eq(raw.i_links_count, 65000);
	value.links = 65001;
	ck_assert_int_eq(encode(&format, &value, &raw), EMLINK);
	value.mode = S_IFDIR | 0755;
	ck_assert_int_eq(encode(&format, &value, &raw), 0);
	ck_assert_uint_eq(raw.i_links_count, 1);
	format.dir_nlink = false;
	ck_assert_int_eq(encode(&format, &value, &raw), EMLINK);
}
END_TEST

static const char longest_fast_target[] = "012345678901234567890123456789012345678901234567890123/last";

static const struct {
	const char *name;
	uint16_t mode;
	uint32_t major, minor;
	uint64_t size_bytes; /* -1: the largest file */
	size_t time;
	uint32_t uid, gid;
} files[] = {
	{ "plain", S_IFREG | 0644, 0, 0, 12345, 1, 0, 0 },
	{ "huge", S_IFREG | 07777, 0, 0, UINT64_MAX, 2, 65535, 65536 },
	{ "old", S_IFREG | 0, 0, 0, 0, 3, UINT32_MAX - 1, 70000 },
	{ "later", S_IFREG | 0600, 0, 0, UINT64_C(1) << 33, 6, 1, 2 },
	{ "latest", S_IFREG | 0600, 0, 0, 1, 9, 3, 4 },
	{ "small-device", S_IFCHR | 0666, 255, 255, 0, 5, 5, 6 },
	{ "large-minor", S_IFBLK | 0660, 8, 256, 0, 7, 0, 6 },
	{ "large-major", S_IFCHR | 0660, 256, 3, 0, 0, 0, 0 },
	{ "largest-device", S_IFBLK | 0660, 4095, 0xfffff, 0, 0, 0, 0 },
	{ "pipe", S_IFIFO | 0600, 0, 0, 0, 1, 9, 9 },
	{ "socket", S_IFSOCK | 0700, 0, 0, 0, 1, 9, 9 },
	{ "link", S_IFLNK | 0777, 0, 0, sizeof(longest_fast_target) - 1, 1, 9, 9 },
};
_Static_assert(sizeof(longest_fast_target) == INODE_FAST_SYMLINK_BYTES + 1, "the longest that fits");
#define FILES (sizeof(files) / sizeof(files[0]))

static uint64_t size_of(const struct ondisk_format *format, size_t n)
{
	return files[n].size_bytes == UINT64_MAX ? file_map_max_bytes(format) : files[n].size_bytes;
}

static struct inode_value value_of(const struct ondisk_format *format, size_t n)
{
	struct inode_value value = {
		.mode = files[n].mode,
		.uid = files[n].uid,
		.gid = files[n].gid,
		.size_bytes = size_of(format, n),
		.atime = times[files[n].time].in,
		.ctime = times[1].in,
		.mtime = times[files[n].time].in,
		.crtime = times[1].in,
		.links = 1,
		.generation = 0x01020304 * n,
	};

	if (S_ISREG(value.mode)) {
		value.flags = format->extents ? EXT4_EXTENTS_FL : 0;
		ck_assert_int_eq(file_map_build(format, 0, 0, NULL, 0, NULL, value.root, NULL), 0);
	} else if (S_ISLNK(value.mode)) {
		memcpy(value.root, longest_fast_target, INODE_FAST_SYMLINK_BYTES);
	} else if (S_ISCHR(value.mode) || S_ISBLK(value.mode)) {
		inode_root_device(files[n].major, files[n].minor, value.root);
	}
	return value;
}

static void ask_the_kernel(const struct ondisk_format *format, const char *mounted)
{
	for (size_t n = 0; n < FILES; n++) {
		char path[128];
		char target[64] = "";
		struct stat stat;
		const struct inode_time *time = &times[files[n].time].large;

		if (!format->extra_isize)
			time = &times[files[n].time].small;
		snprintf(path, sizeof(path), "%s/%s", mounted, files[n].name);
		ck_assert_int_eq(lstat(path, &stat), 0);
		ck_assert_uint_eq(stat.st_mode, files[n].mode);
		ck_assert_uint_eq(stat.st_uid, files[n].uid);
		ck_assert_uint_eq(stat.st_gid, files[n].gid);
		ck_assert_uint_eq(stat.st_size, size_of(format, n));
		ck_assert_uint_eq(stat.st_blocks, 0);
		ck_assert_int_eq(stat.st_mtim.tv_sec, time->seconds);
		ck_assert_int_eq(stat.st_mtim.tv_nsec, time->nanoseconds);
		if (S_ISCHR(stat.st_mode) || S_ISBLK(stat.st_mode)) {
			ck_assert_uint_eq(major(stat.st_rdev), files[n].major);
			ck_assert_uint_eq(minor(stat.st_rdev), files[n].minor);
		}
		if (S_ISLNK(stat.st_mode)) {
			ck_assert_int_eq(readlink(path, target, sizeof(target)), INODE_FAST_SYMLINK_BYTES);
			ck_assert_str_eq(target, longest_fast_target);
		}
	}
}

static const char *const filesystems[] = {
	"-b 1024 -I 128",
	"-b 4096 -I 256",
	"-b 4096 -I 512 -O metadata_csum_seed",
	"-b 2048 -I 1024 -O ^metadata_csum",
	"-b 4096 -O ^extents,^64bit",
	"-b 1024 -O ^extents,^64bit,^huge_file",
	"-b 65536 -I 256",
};

START_TEST(real_filesystems)
{
	struct ondisk_image image;
	struct ondisk_format format;

	ondisk_image_make(&image, filesystems[_i], "64M");
	format = image.format;
	/* The largest file needs it; lib/ondisk leaves it to its caller. */
	ext2fs_set_feature_large_file(image.fs->super);
	ext2fs_mark_super_dirty(image.fs);
	for (size_t n = 0; n < FILES; n++) {
		uint8_t bytes[1024];
		struct inode_value value = value_of(&format, n);
		ext2_ino_t ino = ondisk_image_new_inode(&image, files[n].name, files[n].mode);

		ck_assert_int_eq(inode_encode(&format, ino, &value, NULL, bytes), 0);
		if (format.checksums)
			ck_assert(ext2fs_inode_csum_verify(image.fs, ino, (struct ext2_inode_large *)bytes));
		ondisk_image_put_inode(&image, ino, bytes);
	}
	ondisk_image_check(&image);

	const char *mounted = ondisk_image_mount();

	if (!mounted)
		return;
	ask_the_kernel(&format, mounted);
	ondisk_image_unmount();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inode");
	TCase *tests = tcase_create("inode");

	tcase_set_timeout(tests, 60);
	tcase_add_unchecked_fixture(tests, ondisk_image_setup, ondisk_image_teardown);
	tcase_add_test(tests, times_are_kept_or_clamped);
	tcase_add_test(tests, plain_fields);
	tcase_add_test(tests, sizes_by_type);
	tcase_add_test(tests, block_counts_change_their_unit);
	tcase_add_test(tests, link_counts);
	tcase_add_loop_test(tests, real_filesystems, 0, sizeof(filesystems) / sizeof(filesystems[0]));
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
