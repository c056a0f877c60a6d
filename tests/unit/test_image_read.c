/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lib/image reads what libext2fs reads, of images that mke2fs, debugfs and e2populate have made, with every feature. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/inode_window.h"
#include "image_judge.h"
#include "scratch.h"
#include "unit.h"

#define MANY (is_soak() ? 3000u : 800u)
#define LONG_WORD                                                                                                      \
	"so-very-many-as-one-of-200-bytes-does-and-then-goes-on-and-on-and-on-until-a-leaf-of-1024-bytes-is-full-of-"  \
	"three-or-four-of-them-where-it-would-be-full-of-fifteen-that-are-shorter-than-this-one-is"

static void setup(void)
{
	scratch_enter("image_read");
	scratch_run(
		"make_tree tree --seed=1 --files=300 --largest-bytes=200000 --xattr-bytes=400 --longest-link=900 >log "
		"2>&1");
	/* ACLs, and values of every size, some of them equal. */
	scratch_run("perl -MMIME::Base64 -e '$acl = encode_base64(pack(\"V(vvV)*\", 2, 1, 7, -1, 2, 6, 1000, 4, 5, -1, "
	            "8, 4, 70000, 16, 7, -1, 32, 4, -1), \"\"); print \"#mtree\\n. type=dir\\n./acl type=dir "
	            "xattr.system.posix_acl_access=$acl xattr.system.posix_acl_default=$acl\\n\"; "
	            "for (map({ $_ * 3271 } 1 .. 20), 9, 990, 4040, 65536) "
	            "{ printf \"./file-%%u type=link link=x mode=0777 xattr.trusted.small=YQ== xattr.trusted.large=%%s "
	            "xattr.trusted.equal=%%s\\n\", $_, encode_base64(pack(\"V*\", 1 .. $_ / 4), \"\"), "
	            "encode_base64(\"equal\" x 5000, \"\") }' >large");
	/* Every level of an indirect map of 1 KiB blocks, and a tree of extents of as many. */
	scratch_run(
		"perl -e 'for (0 .. 300, map({ 300 + 50 * $_ } 0 .. 40), 70000, 70300, 71000) "
		"{ seek STDOUT, $_ * 2048, 0; print \"x\" x 1024 }' >tree/sparse && touch -d @5000000000.5 tree/late");
	/* As many leaves, of longer names: mke2fs looks through all of them for each name. */
	scratch_run("mkdir tree/many && cd tree/many && seq -f 'a-name-that-is-long-enough-to-fill-%s-blocks-%%g' %u | "
	            "xargs touch",
	            is_soak() ? "several" : LONG_WORD, MANY);
}

/* By e2populate, with the tree's xattrs, owners and devices. */
static struct judged populated(const char *options)
{
	scratch_run("rm -f image && e2populate -q %s -d tree image >log 2>&1 || { cat log; false; }", options);
	return image_judge("image");
}

/* By mke2fs, which leaves indexes to e2fsck -D; what no host has is added by debugfs. */
static struct judged stock(const char *options)
{
	scratch_run("rm -f image && mke2fs -q -F %s -d tree image 256M >log 2>&1 || { cat log; false; }", options);
	scratch_run("printf '%%s\\n' 'mknod device c 300 70000' 'symlink fast short' "
	            "\"symlink slow $(printf '%%0200d' 7)\" 'ea_set sparse user.added value' "
	            "'fallocate sparse 20 40' 'set_inode_field sparse generation 77' "
	            "'set_inode_field late crtime 0x7fffffff' >commands && debugfs -w -f commands image >log 2>&1");
	scratch_run("e2fsck -fyD image >log 2>&1; [ $? -le 1 ]");
	return image_judge("image");
}

static void expect_all(const struct judged *judged)
{
	ck_assert_uint_gt(judged->inodes, MANY);
	ck_assert_uint_gt(judged->records, 200);
	ck_assert_uint_gt(judged->names, MANY + 300);
	ck_assert_uint_gt(judged->xattrs, 20);
	ck_assert_uint_gt(judged->symlinks, 5);
}

#define ONE(name, make, options, ...)                                                                                  \
	START_TEST(name)                                                                                               \
	{                                                                                                              \
		struct judged judged = make(options);                                                                  \
                                                                                                                       \
		expect_all(&judged);                                                                                   \
		__VA_ARGS__;                                                                                           \
	}                                                                                                              \
	END_TEST

ONE(extents, populated, "-t ext4 -b 1024", ck_assert_uint_gt(judged.map_blocks, 1);
    ck_assert_uint_ge(judged.index_levels, 1))
ONE(indirect, populated, "-t ext2 -b 1024 -I 128", ck_assert_uint_eq(judged.depth, 3))
ONE(inline_data, populated, "-t ext4 -b 4096 -O inline_data -I 512", ck_assert_uint_gt(judged.inline_data, 20))
ONE(bigalloc, populated, "-t ext4 -b 4096 -O bigalloc -C 16384")
ONE(casefold, populated, "-t ext4 -b 1024 -O casefold --casefold=/many", ck_assert_uint_gt(judged.casefolded, 0))
ONE(without_checksums, populated, "-t ext4 -b 1024 -O ^metadata_csum,^64bit")
ONE(large_blocks, populated, "-F -t ext4 -b 65536 -O ^has_journal")
ONE(projects, populated, "-t ext4 -b 4096 -O quota,project -E quotatype=usrquota:grpquota:prjquota")
ONE(stock_extents, stock, "-t ext4 -b 1024", ck_assert_uint_gt(judged.unwritten, 0);
    ck_assert_uint_ge(judged.index_levels, 1))
ONE(stock_indirect, stock, "-t ext3 -b 1024 -I 256", ck_assert_uint_eq(judged.depth, 3))
ONE(stock_old, stock, "-t ext2 -b 1024 -I 128 -O ^dir_index,^filetype")
ONE(stock_inline_data, stock, "-t ext4 -b 4096 -O inline_data", ck_assert_uint_gt(judged.inline_data, 20))
ONE(stock_linear, stock, "-t ext4 -b 1024 -O ^dir_index,^64bit,metadata_csum_seed",
    ck_assert_uint_eq(judged.index_levels, 0))
ONE(stock_bigalloc, stock, "-t ext4 -b 1024 -O bigalloc -C 4096")

/* Values in inodes of their own, and as large as they can be. */
START_TEST(values_have_inodes)
{
	static const char *const options[] = { "-t ext4 -b 1024", "-t ext4 -b 4096 -O ^metadata_csum",
		                               "-t ext4 -b 4096 -O inline_data",
		                               "-t ext4 -b 1024 -I 128 -O ^extents,^64bit" };

	for (size_t n = 0; n < sizeof(options) / sizeof(*options); n++) {
		scratch_run("rm -f image && e2populate -q %s -O ea_inode -d mtree:large image >log 2>&1 || { cat log; "
		            "false; }",
		            options[n]);
		struct judged judged = image_judge("image");

		ck_assert_uint_ge(judged.value_inodes, 20);
		ck_assert_uint_eq(judged.xattrs, 74);
		ck_assert_uint_eq(judged.acls, 2);
	}
	scratch_run("rm -f image && mke2fs -q -F -t ext4 -b 1024 -O ea_inode image 16M && "
	            "head -c 30000 /dev/urandom >value && echo >file && "
	            "printf '%%s\\n' 'write file file' 'ea_set -f value file user.large' "
	            "'ea_set file user.small word' >commands && debugfs -w -f commands image >log 2>&1");
	struct judged judged = image_judge("image");

	ck_assert_uint_eq(judged.xattrs, 2);
	ck_assert_uint_eq(judged.value_inodes, 1);
}
END_TEST

/* Forwards, backwards and to and fro: also beyond the last inode, and where a table was never written. */
START_TEST(windows_have_the_inodes)
{
	struct problem problem = { 0 };
	struct inode_window window;
	struct volume volume;
	uint8_t one[1024], other[1024];

	scratch_run("mke2fs -q -F -t ext4 -b 1024 -g 1024 -N 4000 -d tree/many window.img 16M");
	ck_assert_int_eq(volume_open("window.img", 0, &volume, &problem), 0);
	ck_assert_int_eq(inode_window_open(&window, &volume), 0);
	for (uint32_t i = 0; i < 3 * (volume.inodes + 2); i++) {
		uint32_t number = i % (volume.inodes + 2), way = i / (volume.inodes + 2);
		uint32_t ino = way == 0 ? number :
		               way == 1 ? volume.inodes + 1 - number :
		                          number * 7919 % volume.inodes;
		struct volume_inode alone, within;
		errcode_t error = volume_inode_read(&volume, ino, one, &alone);

		ck_assert_int_eq(inode_window_read(&window, ino, other, &within), error);
		if (error)
			continue;
		ck_assert_mem_eq(one, other, volume.format.inode_bytes);
		ck_assert_uint_eq(within.ino, ino);
		ck_assert_uint_eq(within.all.value.links, alone.all.value.links);
	}
	inode_window_free(&window);
	volume_close(&volume);
}
END_TEST

/* A root, two levels of nodes, and leaves. */
START_TEST(indexes_have_three_levels)
{
	scratch_run("{ echo '#mtree'; echo '. type=dir'; echo './large type=dir'; "
	            "perl -e 'print \"./large/\" . (\"n\" x 240) . \"$_ type=link link=x mode=0777\\n\" for 100000 .. "
	            "162500'; "
	            "} >names && rm -f image && "
	            "e2populate -q -t ext4 -b 1024 -O large_dir -d mtree:names image >log 2>&1 || { cat log; false; }");
	struct judged judged = image_judge("image");

	ck_assert_uint_eq(judged.index_levels, 2);
	ck_assert_uint_ge(judged.names, 62501);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("image_read");
	TCase *tests = tcase_create("image_read");

	tcase_add_unchecked_fixture(tests, setup, scratch_leave);
	tcase_set_timeout(tests, 600);
	tcase_add_test(tests, extents);
	tcase_add_test(tests, indirect);
	tcase_add_test(tests, inline_data);
	tcase_add_test(tests, bigalloc);
	tcase_add_test(tests, casefold);
	tcase_add_test(tests, without_checksums);
	tcase_add_test(tests, large_blocks);
	tcase_add_test(tests, projects);
	tcase_add_test(tests, stock_extents);
	tcase_add_test(tests, stock_indirect);
	tcase_add_test(tests, stock_old);
	tcase_add_test(tests, stock_inline_data);
	tcase_add_test(tests, stock_linear);
	tcase_add_test(tests, stock_bigalloc);
	tcase_add_test(tests, values_have_inodes);
	tcase_add_test(tests, indexes_have_three_levels);
	tcase_add_test(tests, windows_have_the_inodes);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
