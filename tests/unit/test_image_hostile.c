/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images that are made to harm who reads them: lib/image refuses what cannot be, tells it, and needs neither more
 * memory nor more time than the image's own size allows. Most have no checksums, which such an author would put right.
 */
#include <endian.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ext2fs/ext2fs.h>

#include "image/contents.h"
#include "image/lookup.h"
#include "image_all.h"
#include "mb_image.h"
#include "scratch.h"
#include "seeded_random.h"
#include "unit.h"

#define BLOCK_BYTES 1024
#define IMAGE_BLOCKS 8192
#define MOST_MEMORY (UINT64_C(512) << 20)

static void setup(void)
{
	scratch_enter("image_hostile");
	initialize_ext2_error_table();
	scratch_run("head -c 800 /dev/zero | tr '\\0' v >value; head -c 30000 /dev/urandom >contents; echo x >little");
}

/* Commands of debugfs(8) on a new image; of each test the address space is limited, but for sanitizers'. */
static void make_image(const char *options, const char *commands)
{
	scratch_run("rm -f image && mke2fs -q -F -t ext4 -b 1024 %s image 8M >log 2>&1 && "
	            "printf '%%s\\n' %s >commands && debugfs -w -f commands image >log 2>&1",
	            options, commands);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &(struct rlimit){ MOST_MEMORY, RLIM_INFINITY }), 0);
#endif
}

/* --- Changing bytes ----------------------------------------------------------------------------------------- */

static void put(uint64_t offset, const void *bytes, size_t count)
{
	int descriptor = open("image", O_RDWR);

	ck_assert_int_eq(pwrite(descriptor, bytes, count, (off_t)offset), (ssize_t)count);
	close(descriptor);
}

static void put_number(uint64_t offset, unsigned int width, uint64_t value)
{
	value = htole64(value);
	put(offset, &value, width);
}

/* Where these bytes are in the image, which has them once. */
static uint64_t find(const void *needle, size_t count)
{
	static uint8_t image[IMAGE_BLOCKS * BLOCK_BYTES];
	int descriptor = open("image", O_RDONLY);

	ck_assert_int_eq(read(descriptor, image, sizeof(image)), sizeof(image));
	close(descriptor);
	uint8_t *found = memmem(image, sizeof(image), needle, count);

	ck_assert_ptr_nonnull(found);
	return (uint64_t)(found - image);
}

/* An entry of a directory begins 8 bytes before its name. */
static uint64_t find_entry(const char *name)
{
	return find(name, strlen(name)) - 8;
}

static uint32_t ino_of(const char *path)
{
	struct problem problem = { 0 };
	struct volume volume;
	uint32_t ino;

	ck_assert_ok(volume_open("image", 0, &volume, &problem));
	ck_assert_ok(paths_lookup(&volume, path, (struct damage_listener){ 0 }, &ino));
	volume_close(&volume);
	return ino;
}

static void change_inode(const char *path, void (*change)(struct ext2_inode *inode, uint64_t value), uint64_t value)
{
	uint32_t ino = ino_of(path);
	struct ext2_inode inode;
	ext2_filsys fs;

	ck_assert_ok(ext2fs_open("image", EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs));
	ck_assert_ok(ext2fs_read_inode(fs, ino, &inode));
	change(&inode, value);
	ck_assert_ok(ext2fs_write_inode(fs, ino, &inode));
	ck_assert_ok(ext2fs_close(fs));
}

static void set_size(struct ext2_inode *inode, uint64_t value)
{
	inode->i_size = (uint32_t)value;
	inode->i_size_high = (uint32_t)(value >> 32);
}

static void add_flags(struct ext2_inode *inode, uint64_t value)
{
	inode->i_flags |= (uint32_t)value;
}

static void set_xattr_block(struct ext2_inode *inode, uint64_t value)
{
	inode->i_file_acl = (uint32_t)value;
	inode->osd2.linux2.l_i_file_acl_high = (uint16_t)(value >> 32);
}

static struct ext2_inode read_inode(const char *path)
{
	uint32_t ino = ino_of(path);
	struct ext2_inode inode;
	ext2_filsys fs;

	ck_assert_ok(ext2fs_open("image", EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs));
	ck_assert_ok(ext2fs_read_inode(fs, ino, &inode));
	ext2fs_free(fs);
	return inode;
}

/* The result of reading all of a file, or of a symlink. */
static errcode_t read_contents(const char *path, uint64_t offset, void *bytes, size_t count)
{
	uint32_t ino = ino_of(path);
	struct problem problem = { 0 };
	struct volume_inode inode;
	struct map_walker walker;
	struct volume volume;
	uint64_t blocks_read = 0;
	uint8_t raw[256];
	char *target = NULL;
	size_t target_bytes;

	ck_assert_ok(volume_open("image", 0, &volume, &problem));
	ck_assert_ok(volume_inode_read(&volume, ino, raw, &inode));
	ck_assert_ok(map_walker_open(&volume, (struct damage_listener){ 0 }, &blocks_read, &walker));
	errcode_t error = S_ISLNK(inode.view.mode) ? symlink_read(&walker, &inode, &target, &target_bytes) :
	                                             contents_read(&walker, &inode, offset, bytes, count);

	free(target);
	map_walker_close(&walker);
	volume_close(&volume);
	return error;
}

/* --- Names -------------------------------------------------------------------------------------------------- */

#define NAMES                                                                                                          \
	"'mkdir d' 'write little d/name' 'write little d/slash_x' 'write little d/zero_x' 'write little d/cc' "        \
	"'write little d/empty' 'write little d/far' 'write little d/root' 'write little d/own'"

static void change_names(void)
{
	put(find_entry("slash_x") + 8 + 5, "/", 1);
	put(find_entry("zero_x") + 8 + 4, "\0", 1);
	put_number(find_entry("empty") + 6, 1, 0);
	put_number(find_entry("far"), 4, UINT32_MAX);
	put_number(find_entry("root"), 4, EXT2_ROOT_INO);
	put_number(find_entry("own"), 4, EXT2_JOURNAL_INO);
	put(find("cc\0", 3), "..", 2);
}

START_TEST(names_that_no_path_has)
{
	struct image_all before, all;

	make_image("-O ^metadata_csum", NAMES);
	ck_assert(image_read_all("image", IMAGE_STRICT, &before));
	ck_assert_uint_eq(before.damage, 0);
	change_names();
	ck_assert(image_read_all("image", IMAGE_STRICT, &all));
	ck_assert_uint_eq(all.names, before.names - 7);
	ck_assert_uint_eq(all.damage, 7);
	ck_assert_uint_eq(all.unusual_names, 0);
	ck_assert(image_all_has(&all, "entry of a directory"));
	ck_assert(image_all_has(&all, "directory's .."));
	/* Reports show what is there. */
	ck_assert(image_read_all("image", 0, &all));
	ck_assert_uint_eq(all.names, before.names - 1);
	ck_assert_uint_eq(all.unusual_names, 2);
}
END_TEST

/* They are bytes: these two are right now. */
START_TEST(encrypted_names_are_bytes)
{
	struct image_all before, all;

	make_image("-O ^metadata_csum,encrypt", NAMES);
	ck_assert(image_read_all("image", IMAGE_STRICT, &before));
	change_inode("d", add_flags, EXT4_ENCRYPT_FL);
	change_names();
	ck_assert(image_read_all("image", IMAGE_STRICT, &all));
	ck_assert_uint_eq(all.names, before.names - 5);
	ck_assert_uint_eq(all.damage, 5);
	ck_assert_uint_eq(all.unusual_names, 2);
}
END_TEST

START_TEST(encrypted_targets_are_bytes)
{
	make_image("-O ^metadata_csum,encrypt", "\"symlink slow $(printf '%0200d' 7)\" 'symlink fast 1234_6789'");
	put(find("00000007", 8), "\0", 1);
	put(find("1234_6789", 9) + 4, "\0", 1);
	ck_assert_error(read_contents("slow", 0, NULL, 0), EUCLEAN);
	ck_assert_error(read_contents("fast", 0, NULL, 0), EUCLEAN);
	change_inode("slow", add_flags, EXT4_ENCRYPT_FL);
	change_inode("fast", add_flags, EXT4_ENCRYPT_FL);
	ck_assert_ok(read_contents("slow", 0, NULL, 0));
	ck_assert_ok(read_contents("fast", 0, NULL, 0));
	change_inode("slow", set_size, UINT64_C(1) << 31);
	change_inode("fast", set_size, BLOCK_BYTES + 1);
	ck_assert_error(read_contents("slow", 0, NULL, 0), EUCLEAN);
	ck_assert_error(read_contents("fast", 0, NULL, 0), EUCLEAN);
}
END_TEST

/* Names lead back up: a path ends where its components end. */
START_TEST(directories_lead_in_circles)
{
	char path[4096] = "/a";
	struct image_all all;

	make_image("-O ^metadata_csum",
	           "'mkdir a' 'mkdir a/b' 'ln a a/b/up' 'ln a/b a/b/self' 'ln / a/b/root' 'write little a/file'");
	for (unsigned int n = 0; n < 400; n++)
		strcat(path, n % 2 ? "/up" : "/b");
	ck_assert_uint_eq(ino_of(path), ino_of("/a"));
	strcat(path, "/b/self/self/self/up/file");
	ck_assert_uint_eq(ino_of(path), ino_of("/a/file"));
	ck_assert(image_read_all("image", IMAGE_STRICT, &all));
	ck_assert_uint_eq(all.damage, 1);
	ck_assert(image_all_has(&all, "entry of a directory"));
	scratch_run("e2frag --by-directory --json image >log 2>&1");
}
END_TEST

/* --- Maps --------------------------------------------------------------------------------------------------- */

static uint32_t words[15];

static void set_words(struct ext2_inode *inode, uint64_t value)
{
	(void)value;
	for (unsigned int n = 0; n < 15; n++)
		inode->i_block[n] = htole32(words[n]);
}

/* The root: a header and up to four entries of three words. */
static void set_root(unsigned int depth, unsigned int count, unsigned int room, const uint32_t *entries)
{
	memset(words, 0, sizeof(words));
	words[0] = 0xf30a | count << 16;
	words[1] = room | depth << 16;
	memcpy(&words[3], entries, (count < 4 ? count : 4) * 12);
	change_inode("file", set_words, 0);
}

#define ENTRIES(...) ((const uint32_t[]){ __VA_ARGS__ })

/* Only the file is wrong: everything else in the image is right. */
static void expect_map(uint64_t blocks, const char *what)
{
	static uint64_t others;
	struct image_all all;
	uint8_t bytes[4096];

	if (!what) {
		ck_assert(image_read_all("image", IMAGE_STRICT, &all));
		ck_assert_uint_eq(all.damage, 0);
		others = all.blocks - blocks;
		return;
	}
	for (unsigned int strict = 0; strict <= IMAGE_STRICT; strict++) {
		ck_assert(image_read_all("image", strict, &all));
		ck_assert_uint_eq(all.blocks, others + blocks);
		ck_assert_msg(image_all_has(&all, what), "%s was not told", what);
	}
	ck_assert_error(read_contents("file", 0, bytes, sizeof(bytes)), EUCLEAN);
}

START_TEST(extent_trees_that_cannot_be)
{
	make_image("-O ^metadata_csum,^resize_inode", "'write contents file'");
	expect_map(30, NULL);
	/* Two that overlap, one that ends after the largest logical block, one that is the superblock. */
	set_root(0, 2, 4, ENTRIES(0, 10, 4000, 5, 10, 5000));
	expect_map(10, "extent");
	set_root(0, 2, 4, ENTRIES(0, 10, 4000, UINT32_MAX - 4, 10, 5000));
	expect_map(10, "extent");
	set_root(0, 1, 4, ENTRIES(0, 1, 1));
	expect_map(0, "extent");
	set_root(0, 1, 4, ENTRIES(0, 2, IMAGE_BLOCKS - 1));
	expect_map(0, "extent");
	/* More entries than there is room for, as many as can be said, and a depth that no kernel reads. */
	set_root(0, 5, 5, ENTRIES(0, 1, 4000, 1, 1, 4001, 2, 1, 4002, 3, 1, 4003));
	expect_map(0, "extent tree");
	set_root(0, 65535, 65535, ENTRIES(0, 1, 4000, 1, 1, 4001, 2, 1, 4002, 3, 1, 4003));
	expect_map(0, "extent tree");
	set_root(6, 1, 4, ENTRIES(0, 4000, 0));
	expect_map(0, "extent tree");
	set_root(65535, 1, 4, ENTRIES(0, 4000, 0));
	expect_map(0, "extent tree");
	/* Nodes outside of the filesystem. */
	set_root(1, 1, 4, ENTRIES(0, IMAGE_BLOCKS, 0));
	expect_map(0, "block of a map");
	set_root(1, 1, 4, ENTRIES(0, 4000, 65535));
	expect_map(0, "block of a map");
}
END_TEST

/* A node whose entries, each for so many logical blocks, all name one child. */
static void put_node(uint32_t block, unsigned int depth, uint32_t span, uint32_t child)
{
	uint32_t node[BLOCK_BYTES / 4] = { htole32(0xf30a | 84u << 16), htole32(84 | depth << 16) };

	for (uint32_t n = 0; n < 84; n++) {
		node[3 + 3 * n] = htole32(n * span);
		node[4 + 3 * n] = htole32(depth ? child : 1);
		node[5 + 3 * n] = htole32(depth ? 0 : child);
	}
	put((uint64_t)block * BLOCK_BYTES, node, sizeof(node));
}

START_TEST(extent_trees_lead_in_circles)
{
	struct image_all all;

	make_image("-O ^metadata_csum,^resize_inode", "'write contents file'");
	expect_map(30, NULL);
	/* Each node is its own child. */
	for (unsigned int depth = 1; depth <= 5; depth++) {
		put_node(8000, depth, 1 << 20, 8000);
		set_root(depth, 1, 4, ENTRIES(0, 8000, 0));
		expect_map(0, "extent tree");
	}
	/* 84^5 paths to one leaf. */
	for (unsigned int depth = 0; depth < 5; depth++)
		put_node(8000 + depth, depth, 1u << (5 * depth), depth ? 7999 + depth : 4000);
	set_root(5, 4, 4, ENTRIES(0, 8004, 0, 1u << 28, 8004, 0, 2u << 28, 8004, 0, 3u << 28, 8004, 0));
	ck_assert(image_read_all("image", IMAGE_STRICT, &all));
	ck_assert_uint_gt(all.damage, 0);
	ck_assert_uint_lt(all.damage, IMAGE_BLOCKS * 100);
}
END_TEST

/* --- Xattrs ------------------------------------------------------------------------------------------------- */

struct change {
	unsigned int offset, width;
	uint64_t value;
};

/* Changes to the first entry of a list: its name's length, its value's offset, inode and size; and to the block's
 * header. */
static const struct change in_block[] = {
	{ 0, 4, 0 },           { 8, 4, 2 },           { 8, 4, UINT32_MAX }, { 32, 1, 255 },        { 34, 2, 0 },
	{ 34, 2, 36 },         { 34, 2, 1020 },       { 34, 2, 65535 },     { 36, 4, 8 },          { 36, 4, 12 },
	{ 36, 4, UINT32_MAX }, { 40, 4, UINT32_MAX }, { 40, 4, 1025 },      { 40, 4, 0x7fffffff }, { 44, 4, 1 },
};

START_TEST(blocks_of_xattrs_that_cannot_be)
{
	static const uint64_t blocks[] = { 1, IMAGE_BLOCKS, UINT32_MAX, UINT64_C(0xffffffffffff), 4000 };
	struct image_all all;

	make_image("-O ^metadata_csum", "'write little file' 'ea_set -f value file user.large'");
	ck_assert(image_read_all("image", IMAGE_STRICT, &all));
	ck_assert_uint_eq(all.xattrs, 1);
	ck_assert_uint_eq(all.damage, 0);
	uint64_t block = read_inode("file").i_file_acl;

	ck_assert_uint_gt(block, 0);
	scratch_run("cp image clean");
	for (size_t n = 0; n < sizeof(in_block) / sizeof(*in_block); n++) {
		put_number(block * BLOCK_BYTES + in_block[n].offset, in_block[n].width, in_block[n].value);
		ck_assert(image_read_all("image", 0, &all));
		ck_assert_msg(all.damage == 1 && !all.xattrs, "change %zu is not told", n);
		scratch_run("cp clean image");
	}
	for (size_t n = 0; n < sizeof(blocks) / sizeof(*blocks); n++) {
		change_inode("file", set_xattr_block, blocks[n]);
		ck_assert(image_read_all("image", 0, &all));
		ck_assert(image_all_has(&all, "block of xattrs") && !all.xattrs);
		scratch_run("cp clean image");
	}
	/* Entries to the end of the block, and no end of their list. */
	for (unsigned int offset = 32; offset < BLOCK_BYTES; offset += 4)
		put_number(block * BLOCK_BYTES + offset, 4, 0x01010104);
	ck_assert(image_read_all("image", 0, &all));
	ck_assert_uint_eq(all.xattrs, 0);
	ck_assert_uint_gt(all.damage, 0);
}
END_TEST

/* The same of the list in an inode, which begins after the magic number. */
START_TEST(xattrs_in_inodes_that_cannot_be)
{
	static const struct change changes[] = { { 0, 1, 255 },        { 2, 2, 0 },          { 2, 2, 65535 },
		                                 { 4, 4, UINT32_MAX }, { 8, 4, UINT32_MAX }, { 8, 4, 97 } };
	struct image_all all;

	make_image("-I 256 -O ^metadata_csum", "'write little file' 'ea_set file user.unmistakable word'");
	ck_assert(image_read_all("image", 0, &all));
	ck_assert_uint_eq(all.xattrs, 1);
	uint64_t entry = find("unmistakable", 12) - 16;

	scratch_run("cp image clean");
	for (size_t n = 0; n < sizeof(changes) / sizeof(*changes); n++) {
		put_number(entry + changes[n].offset, changes[n].width, changes[n].value);
		ck_assert(image_read_all("image", 0, &all));
		ck_assert_msg(all.damage == 1 && !all.xattrs, "change %zu is not told", n);
		scratch_run("cp clean image");
	}
}
END_TEST

/* --- Inline data -------------------------------------------------------------------------------------------- */

START_TEST(inline_data_that_is_too_long)
{
	uint8_t bytes[4096];
	struct image_all all;

	scratch_run("rm -rf tree && mkdir -p tree/small && touch tree/small/one tree/small/two && "
	            "head -c 100 /dev/zero | tr '\\0' i >tree/file");
	make_image("-I 256 -O ^metadata_csum,inline_data -d tree", "'stat file'");
	ck_assert(image_read_all("image", IMAGE_STRICT, &all));
	ck_assert_uint_eq(all.damage, 0);
	ck_assert(read_inode("file").i_flags & EXT4_INLINE_DATA_FL);
	ck_assert(read_inode("small").i_flags & EXT4_INLINE_DATA_FL);
	/* What is missing are zeros; more than was asked for is never read. */
	change_inode("file", set_size, UINT64_C(1) << 40);
	ck_assert_ok(read_contents("file", 0, bytes, sizeof(bytes)));
	ck_assert_uint_eq(bytes[99], 'i');
	ck_assert_uint_eq(bytes[100], 0);
	ck_assert_ok(read_contents("file", (UINT64_C(1) << 40) - 10, bytes, sizeof(bytes)));
	/* The rest of it claims more than the inode has. */
	uint64_t entry = find("data", 4) - 16;

	put_number(entry + 8, 4, 4000);
	ck_assert_error(read_contents("file", 0, bytes, sizeof(bytes)), EUCLEAN);
	put_number(entry + 8, 4, UINT32_MAX);
	ck_assert_error(read_contents("file", 0, bytes, sizeof(bytes)), EUCLEAN);
	put_number(find_entry("one") + 4, 2, 65532);
	ck_assert(image_read_all("image", IMAGE_STRICT, &all));
	ck_assert(image_all_has(&all, "inline data"));
	ck_assert(image_all_has(&all, "directory block"));
}
END_TEST

/* --- Claims ------------------------------------------------------------------------------------------------- */

/* Each number of the superblock that others are sizes or places of. */
START_TEST(superblocks_that_claim_much)
{
	static const struct {
		unsigned int offset, width;
	} fields[] = { { 0, 4 },   { 4, 4 },   { 20, 4 },  { 24, 4 },  { 28, 4 },  { 32, 4 },
		       { 36, 4 },  { 40, 4 },  { 84, 4 },  { 88, 2 },  { 206, 2 }, { 224, 4 },
		       { 232, 4 }, { 254, 2 }, { 260, 4 }, { 336, 4 }, { 372, 1 } };
	static const uint64_t values[] = { 0, 1, 3, 0x7f, 0xff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0xffffffff };
	unsigned int opened = 0, refused = 0;
	struct image_all all;

	make_image("-O ^metadata_csum", "'write contents file'");
	/* What is claimed is there, as holes. */
	scratch_run("truncate -s 1G image && cp --sparse=always image clean");
	for (size_t field = 0; field < sizeof(fields) / sizeof(*fields); field++)
		for (size_t value = 0; value < sizeof(values) / sizeof(*values); value++) {
			put_number(1024 + fields[field].offset, fields[field].width, values[value]);
			bool is_open = image_read_all("image", value % 2 ? IMAGE_STRICT : 0, &all);

			opened += is_open;
			refused += !is_open;
			scratch_run("dd if=clean of=image bs=1k skip=1 seek=1 count=1 conv=notrunc status=none");
		}
	ck_assert_uint_gt(opened, 10);
	ck_assert_uint_gt(refused, 50);
}
END_TEST

/* 2^32 blocks in 524288 groups, and 2^30 inodes, all of which fit together. */
START_TEST(superblocks_that_claim_all_there_can_be)
{
	const uint64_t groups = 524288;
	struct image_all all;

	make_image("-O ^metadata_csum,^resize_inode,64bit -N 2048", "'write contents file'");
	scratch_run("truncate -s 200M image");
	struct ext2_super_block super;
	int descriptor = open("image", O_RDONLY);

	ck_assert_int_eq(pread(descriptor, &super, sizeof(super), 1024), sizeof(super));
	close(descriptor);
	put_number(1024 + 4, 4, (groups * 8192) & UINT32_MAX);
	put_number(1024 + 336, 4, groups * 8192 >> 32);
	put_number(1024 + 0, 4, groups * le32toh(super.s_inodes_per_group));
	ck_assert(image_read_all("image", 0, &all));
	ck_assert_uint_gt(all.damage, 0);
	put_number(1024 + 232, 4, 1000000000);
	ck_assert(image_read_all("image", IMAGE_STRICT, &all));
	ck_assert(image_all_has(&all, "list of orphans"));
}
END_TEST

/* --- Journals ----------------------------------------------------------------------------------------------- */

static void make_dirty(const char *options)
{
	make_image("-J size=1 -O ^metadata_csum", "'write contents file' 'mkdir directory'");
	scratch_run("printf '%%s\\n' 'jo %s' 'jw -b 100,101,102 value' 'jw -b 200-205 -r 101 contents' "
	            "'jw -b 300-310 contents' jc >commands && debugfs -w -f commands image >log 2>&1",
	            options);
}

static void damage_journals(const char *name, const char *options)
{
	struct random random = random_start(name);
	unsigned int opened = 0, refused = 0;
	struct image_all all;

	make_dirty(options);
	ck_assert(image_read_all("image", IMAGE_REPLAYED, &all));
	uint64_t journal = find("\xc0\x3b\x39\x98\0\0\0\4", 8);

	scratch_run("cp image clean");
	for (unsigned int round = 0; round < 60; round++) {
		int descriptor = open("image", O_RDWR);

		/* Changes to its superblock and to the log's first blocks. */
		for (uint64_t changes = 1 + random_below(&random, 4); changes--;) {
			uint64_t block = random_below(&random, 30), at = random_below(&random, 64);
			uint8_t byte = random_below(&random, 2) ? (uint8_t)random_next(&random) : 0xff;

			ck_assert_int_eq(pwrite(descriptor, &byte, 1, (off_t)(journal + block * BLOCK_BYTES + at)), 1);
		}
		close(descriptor);
		bool is_open = image_read_all("image", IMAGE_REPLAYED | (round % 2 ? IMAGE_STRICT : 0), &all);

		opened += is_open;
		refused += !is_open;
		scratch_run("cp clean image");
	}
	ck_assert_uint_gt(opened, 5);
	ck_assert_uint_gt(refused, 1);
}

START_TEST(journals_survive)
{
	damage_journals("journals_survive", "");
	damage_journals("journals_with_checksums_survive", "-c -v 3");
}
END_TEST

static void set_journal(unsigned int count, const uint32_t *entries)
{
	memset(words, 0, sizeof(words));
	words[0] = 0xf30a | count << 16;
	words[1] = 4;
	memcpy(&words[3], entries, (size_t)count * 12);
	change_inode("<8>", set_words, 0);
}

/* Pieces of its file are one another, or metadata; a log that comes to its beginning again ends there, or is refused.
 */
START_TEST(journals_lead_in_circles)
{
	struct image_all all;

	make_dirty("");
	uint32_t first = (uint32_t)(find("\xc0\x3b\x39\x98\0\0\0\4", 8) / BLOCK_BYTES);

	scratch_run("cp image clean");
	set_journal(2, ENTRIES(0, 20, first, 20, 1004, first));
	ck_assert(image_read_all("image", IMAGE_REPLAYED, &all));
	/* All of the log is its first descriptor. */
	set_journal(4, ENTRIES(0, 2, first, 2, 1, first + 1, 3, 1, first + 1, 4, 1, first + 1));
	ck_assert(!image_read_all("image", IMAGE_REPLAYED, &all));
	set_journal(1, ENTRIES(0, 1024, 1));
	ck_assert(!image_read_all("image", IMAGE_REPLAYED, &all));
	/* A map that is damaged, though it has all blocks. */
	set_journal(2, ENTRIES(0, 1024, first, 5, 10, 4000));
	ck_assert(!image_read_all("image", IMAGE_REPLAYED, &all));
	set_journal(1, ENTRIES(1, 1024, first));
	ck_assert(!image_read_all("image", IMAGE_REPLAYED, &all));
	/* What is unwritten is a hole; so is what a map lacks. */
	set_journal(1, ENTRIES(0, 32768 + 1024, first));
	ck_assert(!image_read_all("image", IMAGE_REPLAYED, &all));
	set_journal(2, ENTRIES(0, 1000, first, 900, 124, first + 1000));
	ck_assert(!image_read_all("image", IMAGE_REPLAYED, &all));
	scratch_run("cp clean image");
	change_inode("<8>", set_size, UINT64_C(1) << 60);
	ck_assert(image_read_all("image", IMAGE_REPLAYED, &all));
	change_inode("<8>", set_size, 5000);
	ck_assert(!image_read_all("image", IMAGE_REPLAYED, &all));
	scratch_run("cp clean image");
	/* Its superblock claims all that it can. */
	for (unsigned int offset = 12; offset < 32; offset += 4) {
		put_number((uint64_t)first * BLOCK_BYTES + offset, 4, UINT32_MAX);
		image_read_all("image", IMAGE_REPLAYED, &all);
		scratch_run("cp clean image");
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("image_hostile");
	TCase *tests = tcase_create("image_hostile");

	tcase_add_unchecked_fixture(tests, setup, scratch_leave);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, names_that_no_path_has);
	tcase_add_test(tests, encrypted_names_are_bytes);
	tcase_add_test(tests, encrypted_targets_are_bytes);
	tcase_add_test(tests, directories_lead_in_circles);
	tcase_add_test(tests, extent_trees_that_cannot_be);
	tcase_add_test(tests, extent_trees_lead_in_circles);
	tcase_add_test(tests, blocks_of_xattrs_that_cannot_be);
	tcase_add_test(tests, xattrs_in_inodes_that_cannot_be);
	tcase_add_test(tests, inline_data_that_is_too_long);
	tcase_add_test(tests, superblocks_that_claim_much);
	tcase_add_test(tests, superblocks_that_claim_all_there_can_be);
	tcase_add_test(tests, journals_survive);
	tcase_add_test(tests, journals_lead_in_circles);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
