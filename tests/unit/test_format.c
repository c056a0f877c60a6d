/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is read out of superblocks: mke2fs's beside libext2fs's own reading, and broken ones. */
#include "ondisk/format.h"

#include <errno.h>
#include <string.h>

#include "ondisk_image.h"
#include "unit.h"

static const struct {
	const char *options;
	uint32_t block_bytes;
	uint16_t inode_bytes, extra_isize;
	unsigned int cluster_bits;
	bool checksums, extents, dir_index, huge_file, large_dir;
} filesystems[] = {
	{ "-b 1024 -I 128", 1024, 128, 0, 0, true, true, true, true, false },
	{ "-b 4096 -O metadata_csum_seed", 4096, 256, 32, 0, true, true, true, true, false },
	{ "-b 4096 -I 512 -O large_dir,^huge_file", 4096, 512, 32, 0, true, true, true, false, true },
	{ "-b 65536 -I 1024 -O ^dir_index,^metadata_csum", 65536, 1024, 32, 0, false, true, false, true, false },
	{ "-b 2048 -O bigalloc -C 32768", 2048, 256, 32, 4, true, true, true, true, false },
	{ "-b 4096 -O ^extents,^64bit", 4096, 256, 32, 0, true, false, true, true, false },
};

START_TEST(filesystems_of_mke2fs)
{
	struct ondisk_image image;

	ondisk_image_make(&image, filesystems[_i].options, "64M");
	/* So that a changed UUID tells the stored seed from the derived one. */
	if (ext2fs_has_feature_csum_seed(image.fs->super))
		memset(image.fs->super->s_uuid, 0x5a, sizeof(image.fs->super->s_uuid));

	struct ondisk_format format;

	ck_assert_int_eq(ondisk_format_read(image.fs->super, &format), 0);
	ck_assert_uint_eq(format.block_bytes, filesystems[_i].block_bytes);
	ck_assert_uint_eq(UINT32_C(1) << format.block_bits, format.block_bytes);
	ck_assert_uint_eq(format.inode_bytes, filesystems[_i].inode_bytes);
	ck_assert_uint_eq(format.extra_isize, filesystems[_i].extra_isize);
	ck_assert_uint_eq(format.cluster_bits, filesystems[_i].cluster_bits);
	ck_assert_int_eq(format.checksums, filesystems[_i].checksums);
	ck_assert_int_eq(format.extents, filesystems[_i].extents);
	ck_assert_int_eq(format.dir_index, filesystems[_i].dir_index);
	ck_assert_int_eq(format.huge_file, filesystems[_i].huge_file);
	ck_assert_int_eq(format.large_dir, filesystems[_i].large_dir);
	ck_assert(format.filetype && format.dir_nlink);
	if (format.checksums)
		ck_assert_uint_eq(format.checksum_seed, image.fs->csum_seed);
	ck_assert_mem_eq(format.hash_seed, image.fs->super->s_hash_seed, sizeof(format.hash_seed));
	memset(image.fs->super->s_uuid, 0, sizeof(image.fs->super->s_uuid));
	ext2fs_free(image.fs);
}
END_TEST

static struct ext2_super_block plain_super(void)
{
	return (struct ext2_super_block){
		.s_magic = EXT2_SUPER_MAGIC,
		.s_rev_level = EXT2_DYNAMIC_REV,
		.s_log_block_size = 2,
		.s_log_cluster_size = 2,
		.s_inode_size = 256,
		.s_def_hash_version = EXT2_HASH_HALF_MD4,
	};
}

START_TEST(hash_versions)
{
	static const struct {
		uint8_t version;
		uint32_t flags;
		uint8_t expected;
	} cases[] = {
		{ EXT2_HASH_LEGACY, EXT2_FLAGS_UNSIGNED_HASH, EXT2_HASH_LEGACY_UNSIGNED },
		{ EXT2_HASH_HALF_MD4, EXT2_FLAGS_UNSIGNED_HASH, EXT2_HASH_HALF_MD4_UNSIGNED },
		{ EXT2_HASH_TEA, EXT2_FLAGS_UNSIGNED_HASH, EXT2_HASH_TEA_UNSIGNED },
		{ EXT2_HASH_TEA, EXT2_FLAGS_SIGNED_HASH, EXT2_HASH_TEA },
		{ EXT2_HASH_HALF_MD4, 0, EXT2_HASH_HALF_MD4 },
		{ EXT2_HASH_SIPHASH, EXT2_FLAGS_UNSIGNED_HASH, EXT2_HASH_SIPHASH },
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct ext2_super_block super = plain_super();
		struct ondisk_format format;

		super.s_def_hash_version = cases[n].version;
		super.s_flags = cases[n].flags;
		ck_assert_int_eq(ondisk_format_read(&super, &format), 0);
		ck_assert_uint_eq(format.hash_version, cases[n].expected);
	}
}
END_TEST

static uint16_t extra_isize(uint16_t inode_bytes, uint16_t wanted, uint16_t minimum)
{
	struct ext2_super_block super = plain_super();
	struct ondisk_format format;

	super.s_inode_size = inode_bytes;
	super.s_want_extra_isize = wanted;
	super.s_min_extra_isize = minimum;
	ck_assert_int_eq(ondisk_format_read(&super, &format), 0);
	return format.extra_isize;
}

START_TEST(extra_sizes)
{
	ck_assert_uint_eq(extra_isize(128, 32, 32), 0);
	ck_assert_uint_eq(extra_isize(256, 0, 0), 32);
	ck_assert_uint_eq(extra_isize(256, 28, 28), 32); /* of kernels before project quotas */
	ck_assert_uint_eq(extra_isize(256, 40, 32), 40);
	ck_assert_uint_eq(extra_isize(256, 32, 48), 48);
	ck_assert_uint_eq(extra_isize(256, 128, 32), 128);
	ck_assert_uint_eq(extra_isize(256, 132, 32), 32);
	ck_assert_uint_eq(extra_isize(256, 34, 32), 32);
}
END_TEST

START_TEST(sizes_that_are_not_ext4s)
{
	static const struct {
		uint32_t log_block, log_cluster;
		uint16_t inode_bytes;
		uint32_t ro_compat;
		errcode_t expected;
	} cases[] = {
		{ 2, 2, 256, 0, 0 },
		{ 6, 6, 256, 0, 0 },
		{ 7, 7, 256, 0, EINVAL },
		{ 0xffffffff, 2, 256, 0, EINVAL },
		{ 2, 2, 0, 0, EINVAL },
		{ 2, 2, 64, 0, EINVAL },
		{ 2, 2, 200, 0, EINVAL },
		{ 2, 2, 4096, 0, 0 },
		{ 0, 0, 2048, 0, EINVAL },
		{ 2, 99, 256, 0, 0 }, /* not looked at without bigalloc */
		{ 2, 19, 256, EXT4_FEATURE_RO_COMPAT_BIGALLOC, 0 },
		{ 2, 20, 256, EXT4_FEATURE_RO_COMPAT_BIGALLOC, EINVAL },
		{ 2, 1, 256, EXT4_FEATURE_RO_COMPAT_BIGALLOC, EINVAL },
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct ext2_super_block super = plain_super();
		struct ondisk_format format;

		super.s_log_block_size = cases[n].log_block;
		super.s_log_cluster_size = cases[n].log_cluster;
		super.s_inode_size = cases[n].inode_bytes;
		super.s_feature_ro_compat = cases[n].ro_compat;
		ck_assert_msg(ondisk_format_read(&super, &format) == cases[n].expected, "case %zu", n);
	}
}
END_TEST

START_TEST(the_first_revision_has_small_inodes)
{
	struct ext2_super_block super = plain_super();
	struct ondisk_format format;

	super.s_rev_level = EXT2_GOOD_OLD_REV;
	super.s_inode_size = 0;
	ck_assert_int_eq(ondisk_format_read(&super, &format), 0);
	ck_assert_uint_eq(format.inode_bytes, 128);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("format");
	TCase *tests = tcase_create("format");

	tcase_set_timeout(tests, 60);
	tcase_add_unchecked_fixture(tests, ondisk_image_setup, ondisk_image_teardown);
	tcase_add_loop_test(tests, filesystems_of_mke2fs, 0, sizeof(filesystems) / sizeof(filesystems[0]));
	tcase_add_test(tests, hash_versions);
	tcase_add_test(tests, extra_sizes);
	tcase_add_test(tests, sizes_that_are_not_ext4s);
	tcase_add_test(tests, the_first_revision_has_small_inodes);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
