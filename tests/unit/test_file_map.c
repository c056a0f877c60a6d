/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps of random files, walked back by libext2fs and judged by e2fsck; limits by arithmetic. */
#include "ondisk/file_map.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <ext2fs/ext3_extents.h>

#include "ondisk_image.h"
#include "seeded_random.h"
#include "unit.h"

#define GENERATION 0x89abcdef
#define MAX_LOGICAL_END UINT64_C(0xffffffff)

struct test_file {
	struct file_extent *extents;
	size_t count;
	uint64_t map_count;
	uint64_t *map_blocks;
	uint8_t *map;
	uint8_t root[INODE_ROOT_BYTES];
	uint64_t data_blocks;
	ext2_ino_t ino;
};

static void free_file(struct test_file *file)
{
	free(file->extents);
	free(file->map_blocks);
	free(file->map);
	*file = (struct test_file){ 0 };
}

/* Up to `count` extents, fewer where the map's reach ends; gap: the largest hole. */
static void invent_extents(struct ondisk_image *image, struct random *random, size_t count, uint64_t length,
                           uint64_t gap, struct test_file *file)
{
	uint64_t end = file_map_max_bytes(&image->format) >> image->format.block_bits;
	uint64_t logical = random_below(random, (gap < end / 2 ? gap : end / 2) + 1);

	*file = (struct test_file){ .extents = calloc(count, sizeof(*file->extents)) };
	for (size_t n = 0; n < count; n++) {
		uint64_t taken;
		uint64_t wanted = 1 + random_below(random, length);

		if (logical + wanted > end)
			break;
		image->cursor += random_below(random, 3); /* so that neighbours are not always physical neighbours */
		file->extents[n].physical = ondisk_image_take_blocks(image, wanted, &taken);
		file->extents[n].logical = logical;
		file->extents[n].count = taken;
		file->data_blocks += taken;
		file->count = n + 1;
		logical += taken + random_below(random, gap + 1);
	}
	ck_assert_uint_gt(file->count, 0);
}

static void build_file(struct ondisk_image *image, struct test_file *file)
{
	const struct ondisk_format *format = &image->format;

	file->map_count = file_map_blocks(format, file->extents, file->count);
	file->map_blocks = calloc(file->map_count + 1, sizeof(*file->map_blocks));
	file->map = malloc((file->map_count + 1) * format->block_bytes);
	memset(file->map, 0xa5, (file->map_count + 1) * format->block_bytes);
	for (uint64_t n = 0, taken = 0; n < file->map_count; n += taken) {
		uint64_t wanted = file->map_count - n < 7 ? file->map_count - n : 7;
		blk64_t first = ondisk_image_take_blocks(image, wanted, &taken);

		for (uint64_t offset = 0; offset < taken; offset++)
			file->map_blocks[n + offset] = first + offset;
	}
	ck_assert_int_eq(file_map_build(format, file->ino, GENERATION, file->extents, file->count, file->map_blocks,
	                                file->root, file->map),
	                 0);
	for (uint32_t n = 0; n < format->block_bytes; n++)
		ck_assert_uint_eq(file->map[file->map_count * format->block_bytes + n], 0xa5);
}

static void put_file(struct ondisk_image *image, const struct test_file *file)
{
	const struct ondisk_format *format = &image->format;
	const struct file_extent *last = &file->extents[file->count - 1];
	struct inode_value value = {
		.mode = S_IFREG | 0644,
		.size_bytes = ((uint64_t)last->logical + last->count) << format->block_bits,
		.links = 1,
		.blocks = file->data_blocks + file->map_count,
		.flags = format->extents ? EXT4_EXTENTS_FL : 0,
		.generation = GENERATION,
	};
	uint8_t *bytes = malloc(format->inode_bytes);

	memcpy(value.root, file->root, sizeof(value.root));
	ck_assert_int_eq(inode_encode(format, file->ino, &value, NULL, bytes), 0);
	ondisk_image_put_inode(image, file->ino, bytes);
	for (uint64_t n = 0; n < file->map_count; n++)
		ondisk_image_put_blocks(image, file->map_blocks[n], 1, file->map + n * format->block_bytes);
	free(bytes);
}

/* Walks what libext2fs finds beside what was asked for. */
struct walk_back {
	const struct test_file *file;
	bool has_extents;
	size_t extent;
	uint32_t offset;
	uint64_t map_found;
	const char *wrong;
};

static int compare_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t logical, blk64_t parent, int slot, void *context)
{
	struct walk_back *walk = context;
	const struct test_file *file = walk->file;

	(void)fs, (void)parent, (void)slot;
	if (logical < 0) {
		/* Visited before what is below it: an indirect map's own order. */
		if (walk->map_found >= file->map_count)
			walk->wrong = "more map blocks than were built";
		else if (!walk->has_extents && *block != file->map_blocks[walk->map_found])
			walk->wrong = "map blocks in another order";
		walk->map_found++;
		return walk->wrong ? BLOCK_ABORT : 0;
	}
	if (walk->extent >= file->count) {
		walk->wrong = "more blocks than were asked for";
		return BLOCK_ABORT;
	}

	const struct file_extent *extent = &file->extents[walk->extent];

	if ((uint64_t)logical != (uint64_t)extent->logical + walk->offset)
		walk->wrong = "wrong logical block";
	if (*block != extent->physical + walk->offset)
		walk->wrong = "wrong physical block";
	if (++walk->offset == extent->count) {
		walk->offset = 0;
		walk->extent++;
	}
	return walk->wrong ? BLOCK_ABORT : 0;
}

static void walk_blocks_back(struct ondisk_image *image, const struct test_file *file)
{
	struct walk_back walk = { .file = file, .has_extents = image->format.extents };

	ck_assert_int_eq(ext2fs_block_iterate3(image->fs, file->ino, BLOCK_FLAG_READ_ONLY, NULL, compare_block, &walk),
	                 0);
	ck_assert_msg(!walk.wrong, "%s at extent %zu", walk.wrong, walk.extent);
	ck_assert_uint_eq(walk.extent, file->count);
	ck_assert_uint_eq(walk.map_found, file->map_count);
}

static void walk_extents_back(struct ondisk_image *image, const struct test_file *file)
{
	ext2_extent_handle_t handle;
	struct ext2fs_extent extent;
	struct ext2_extent_info info;
	int op = EXT2_EXTENT_ROOT;
	size_t leaves = 0;

	ck_assert_int_eq(ext2fs_extent_open(image->fs, file->ino, &handle), 0);
	for (errcode_t error; (error = ext2fs_extent_get(handle, op, &extent)) != EXT2_ET_EXTENT_NO_NEXT;
	     op = EXT2_EXTENT_NEXT) {
		ck_assert_int_eq(error, 0);
		if (extent.e_flags & EXT2_EXTENT_FLAGS_SECOND_VISIT)
			continue;
		if (!(extent.e_flags & EXT2_EXTENT_FLAGS_LEAF)) {
			ck_assert_int_eq(ext2fs_extent_get_info(handle, &info), 0);
			continue;
		}
		ck_assert_uint_lt(leaves, file->count);
		ck_assert_uint_eq(extent.e_lblk, file->extents[leaves].logical);
		ck_assert_uint_eq(extent.e_pblk, file->extents[leaves].physical);
		ck_assert_uint_eq(extent.e_len, file->extents[leaves].count);
		ck_assert(!(extent.e_flags & EXT2_EXTENT_FLAGS_UNINIT));
		leaves++;
	}
	ck_assert_uint_eq(leaves, file->count);
	ext2fs_extent_free(handle);
	for (uint64_t n = 0; n < file->map_count; n++) {
		void *node = file->map + n * image->format.block_bytes;

		ck_assert(ext2fs_extent_block_csum_verify(image->fs, file->ino, node));
	}
}

static void try_file(struct ondisk_image *image, struct random *random, size_t count, uint64_t length, uint64_t gap)
{
	struct test_file file;
	char name[32];
	static unsigned int number;

	invent_extents(image, random, count, length, gap, &file);
	snprintf(name, sizeof(name), "file%u", number++);
	file.ino = ondisk_image_new_inode(image, name, S_IFREG);
	build_file(image, &file);
	put_file(image, &file);
	walk_blocks_back(image, &file);
	if (image->format.extents)
		walk_extents_back(image, &file);
	free_file(&file);
}

static const struct {
	const char *options;
	const char *size;
	size_t largest; /* extents */
} filesystems[] = {
	{ "-b 1024", "3G", 200000 },
	{ "-b 4096 -O ^metadata_csum", "4G", 30000 },
	{ "-b 65536", "30G", 24000 },
	{ "-b 2048 -I 128", "1G", 3000 },
	{ "-b 1024 -O ^extents,^64bit", "3G", 50000 },
	{ "-b 4096 -O ^extents,^64bit,^metadata_csum", "4G", 10000 },
	{ "-b 65536 -O ^extents,^64bit", "30G", 500 },
};

START_TEST(random_files_are_read_back)
{
	struct ondisk_image image;
	struct random random = random_start("random_files_are_read_back");
	size_t largest = filesystems[_i].largest;

	ondisk_image_make(&image, filesystems[_i].options, filesystems[_i].size);

	uint64_t capacity = (image.format.block_bytes - 12) / 12;
	/* Around where a tree becomes one level deeper. */
	uint64_t counts[] = { 1, 4, 5, capacity, capacity + 1, 4 * capacity, 4 * capacity + 1 };

	for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++) {
		if (counts[n] <= largest)
			try_file(&image, &random, counts[n], 2, 3);
	}
	for (int n = 0; n < 20; n++)
		try_file(&image, &random, 1 + random_below(&random, 300), 1 + random_below(&random, 40),
		         UINT64_C(1) << random_below(&random, 26));
	try_file(&image, &random, 3, FILE_EXTENT_MAX_BLOCKS, 0);
	try_file(&image, &random, largest, 1, 2);
	ondisk_image_check(&image);
}
END_TEST

static struct ondisk_format format_of(uint32_t block_bytes, bool extents)
{
	return (struct ondisk_format){
		.block_bytes = block_bytes,
		.block_bits = __builtin_ctz(block_bytes),
		.inode_bytes = 256,
		.extra_isize = 32,
		.checksums = true,
		.extents = extents,
		.huge_file = true,
	};
}

static errcode_t build_one(const struct ondisk_format *format, struct file_extent extent, uint64_t map_block)
{
	uint64_t map_blocks[4] = { map_block, map_block, map_block, map_block };
	uint8_t root[INODE_ROOT_BYTES];
	uint8_t *blocks = malloc(4 * format->block_bytes);

	ck_assert_uint_le(file_map_blocks(format, &extent, 1), 4);
	errcode_t error = file_map_build(format, 12, GENERATION, &extent, 1, map_blocks, root, blocks);

	free(blocks);
	return error;
}

START_TEST(numbers_that_do_not_fit)
{
	struct ondisk_format tree = format_of(4096, true);
	struct ondisk_format map = format_of(4096, false);
	uint64_t top = UINT64_C(1) << 48;
	uint64_t reach = 12 + 1024 + 1024 * 1024 + UINT64_C(1024) * 1024 * 1024;

	ck_assert_int_eq(build_one(&tree, (struct file_extent){ 0, 8, top - 8 }, 0), 0);
	ck_assert_int_eq(build_one(&tree, (struct file_extent){ 0, 8, top - 7 }, 0), EFBIG);
	ck_assert_int_eq(build_one(&tree, (struct file_extent){ 0, 8, UINT64_MAX - 2 }, 0), EFBIG);
	ck_assert_int_eq(build_one(&tree, (struct file_extent){ MAX_LOGICAL_END - 8, 8, 1 }, 0), 0);
	ck_assert_int_eq(build_one(&tree, (struct file_extent){ MAX_LOGICAL_END - 7, 8, 1 }, 0), EFBIG);

	ck_assert_int_eq(build_one(&map, (struct file_extent){ 0, 8, UINT32_MAX - 7u }, 0), 0);
	ck_assert_int_eq(build_one(&map, (struct file_extent){ 0, 8, UINT32_MAX - 6u }, 0), EFBIG);
	ck_assert_int_eq(build_one(&map, (struct file_extent){ 0, 8, top }, 0), EFBIG);
	ck_assert_int_eq(build_one(&map, (struct file_extent){ 20, 8, 9 }, UINT32_MAX), 0);
	ck_assert_int_eq(build_one(&map, (struct file_extent){ 20, 8, 9 }, UINT64_C(1) << 32), EFBIG);
	ck_assert_int_eq(build_one(&map, (struct file_extent){ reach - 8, 8, 9 }, 1), 0);
	ck_assert_int_eq(build_one(&map, (struct file_extent){ reach - 7, 8, 9 }, 1), EFBIG);
}
END_TEST

START_TEST(numbers_of_48_bits)
{
	struct ondisk_format tree = format_of(4096, true);
	struct file_extent extents[5];
	uint64_t map_block = 0xfedc98765432;
	uint8_t node[4096], root[INODE_ROOT_BYTES];
	struct ext3_extent leaf;
	struct ext3_extent_idx index;

	for (uint32_t n = 0; n < 5; n++)
		extents[n] = (struct file_extent){ 0x10000000 * n + 5, 32768, 0x123456789abcULL + n * 65536 };
	ck_assert_uint_eq(file_map_blocks(&tree, extents, 5), 1);
	ck_assert_int_eq(file_map_build(&tree, 12, 0, extents, 5, &map_block, root, node), 0);
	memcpy(&index, root + 12, sizeof(index));
	ck_assert_uint_eq(le32toh(index.ei_block), 5);
	ck_assert_uint_eq(le32toh(index.ei_leaf), 0x98765432);
	ck_assert_uint_eq(le16toh(index.ei_leaf_hi), 0xfedc);
	memcpy(&leaf, node + 12 + 12 * 4, sizeof(leaf));
	ck_assert_uint_eq(le32toh(leaf.ee_block), 0x40000005);
	ck_assert_uint_eq(le16toh(leaf.ee_len), 32768);
	ck_assert_uint_eq(le32toh(leaf.ee_start), 0x567c9abc);
	ck_assert_uint_eq(le16toh(leaf.ee_start_hi), 0x1234);
}
END_TEST

/* As the kernel and e2fsprogs tell them: 32768 more than the length, which ends at 32767. */
START_TEST(unwritten_extents)
{
	struct ondisk_format tree = format_of(4096, true);
	struct file_extent extents[] = {
		{ 0, 32768, 100 },
		{ 32768, 1 | FILE_EXTENT_UNWRITTEN, 200 },
		{ 32769, FILE_EXTENT_MAX_UNWRITTEN_BLOCKS | FILE_EXTENT_UNWRITTEN, 40000 },
	};
	const uint16_t lengths[] = { 32768, 32769, 65535 };
	uint8_t root[INODE_ROOT_BYTES];
	struct ext3_extent leaf;

	ck_assert_int_eq(file_map_build(&tree, 12, 0, extents, 3, NULL, root, NULL), 0);
	for (size_t n = 0; n < 3; n++) {
		memcpy(&leaf, root + 12 + 12 * n, sizeof(leaf));
		ck_assert_uint_eq(le32toh(leaf.ee_block), extents[n].logical);
		ck_assert_uint_eq(le16toh(leaf.ee_len), lengths[n]);
		ck_assert_uint_eq(le32toh(leaf.ee_start), extents[n].physical);
	}
}
END_TEST

/* Written and unwritten blocks are never joined, and clusters are not cut. */
START_TEST(kinds_of_extents)
{
	struct extent_list list = { .unit = 16 };

	ck_assert_int_eq(extent_list_add(&list, 0, 1000, 16), 0);
	list.is_unwritten = true;
	ck_assert_int_eq(extent_list_add(&list, 16, 1016, 16), 0);
	ck_assert_int_eq(extent_list_add(&list, 32, 1032, 32752), 0);
	list.is_unwritten = false;
	ck_assert_int_eq(extent_list_add(&list, 32784, 33784, 16), 0);
	const uint32_t counts[] = { 16, 32752 | FILE_EXTENT_UNWRITTEN, 16 | FILE_EXTENT_UNWRITTEN, 16 };

	ck_assert_uint_eq(list.count, 4);
	for (size_t n = 0; n < list.count; n++) {
		ck_assert_uint_eq(list.extents[n].count, counts[n]);
		ck_assert_uint_eq(list.extents[n].physical - list.extents[n].logical, 1000);
	}
	free(list.extents);
}
END_TEST

START_TEST(nothing_is_an_empty_root)
{
	struct ondisk_format tree = format_of(1024, true);
	struct ondisk_format map = format_of(1024, false);
	static const uint8_t empty_tree[INODE_ROOT_BYTES] = { 0x0a, 0xf3, 0, 0, 4, 0 };
	static const uint8_t empty_map[INODE_ROOT_BYTES];
	uint8_t root[INODE_ROOT_BYTES];

	ck_assert_uint_eq(file_map_blocks(&tree, NULL, 0), 0);
	ck_assert_uint_eq(file_map_blocks(&map, NULL, 0), 0);
	ck_assert_int_eq(file_map_build(&tree, 12, 0, NULL, 0, NULL, root, NULL), 0);
	ck_assert_mem_eq(root, empty_tree, sizeof(root));
	ck_assert_int_eq(file_map_build(&map, 12, 0, NULL, 0, NULL, root, NULL), 0);
	ck_assert_mem_eq(root, empty_map, sizeof(root));
}
END_TEST

/* Scattered single blocks: every one needs a path of its own where the holes are larger than what a block maps. */
START_TEST(holes_cost_no_indirect_blocks)
{
	struct ondisk_format map = format_of(1024, false);
	struct file_extent extents[] = {
		{ 11, 2, 100 },                         /* the last direct block and the first indirect one: 1 */
		{ 12 + 256 + 256 * 9, 1, 200 },         /* double: 2 */
		{ 12 + 256 + 256 * 9 + 200, 1, 201 },   /* under the same: 0 */
		{ 12 + 256 + 256 * 11, 1, 202 },        /* beside it: 1 */
		{ 12 + 256 + 65536 + 70000, 300, 300 }, /* triple: 1 + 1 + 2 */
	};

	ck_assert_uint_eq(file_map_blocks(&map, extents, 1), 1);
	ck_assert_uint_eq(file_map_blocks(&map, extents, 2), 3);
	ck_assert_uint_eq(file_map_blocks(&map, extents, 3), 3);
	ck_assert_uint_eq(file_map_blocks(&map, extents, 4), 4);
	ck_assert_uint_eq(file_map_blocks(&map, extents, 5), 8);
}
END_TEST

/* The kernel's figures, as ext4's documentation tables and its own computation give them. */
START_TEST(largest_files)
{
	struct ondisk_format format = format_of(4096, true);

	ck_assert_uint_eq(file_map_max_bytes(&format), MAX_LOGICAL_END << 12);
	format.huge_file = false;
	ck_assert_uint_eq(file_map_max_bytes(&format), (UINT64_C(1) << 41) - 4096);
	format = format_of(65536, true);
	ck_assert_uint_eq(file_map_max_bytes(&format), MAX_LOGICAL_END << 16);

	format = format_of(1024, false);
	ck_assert_uint_eq(file_map_max_bytes(&format), UINT64_C(16843020) << 10);
	format.huge_file = false;
	ck_assert_uint_eq(file_map_max_bytes(&format), UINT64_C(16843020) << 10);
	format = format_of(4096, false);
	ck_assert_uint_eq(file_map_max_bytes(&format), UINT64_C(1074791436) << 12);
	format.huge_file = false;
	ck_assert_uint_eq(file_map_max_bytes(&format), UINT64_C(2196873666560)); /* as ext3's documentation has it */
	format = format_of(65536, false);
	ck_assert_uint_eq(file_map_max_bytes(&format), MAX_LOGICAL_END << 16);
}
END_TEST

/* Millions of extents: must be linear (0.1 s for each; a quadratic build would take hours). */
START_TEST(millions_of_extents)
{
	size_t count = 3000000;
	struct file_extent *extents = calloc(count, sizeof(*extents));

	for (size_t n = 0; n < count; n++)
		extents[n] = (struct file_extent){ .logical = 2 * n, .count = 1, .physical = 7 + 3 * n };
	for (int has_extents = 0; has_extents < 2; has_extents++) {
		struct ondisk_format format = format_of(4096, has_extents);
		uint64_t map_count = file_map_blocks(&format, extents, count);
		uint64_t *map_blocks = calloc(map_count, sizeof(*map_blocks));
		uint8_t root[INODE_ROOT_BYTES];
		void *blocks = malloc(map_count * format.block_bytes);

		ck_assert_uint_lt(map_count, 9000);
		for (uint64_t n = 0; n < map_count; n++)
			map_blocks[n] = 100000000 + n;
		ck_assert_int_eq(file_map_build(&format, 12, 0, extents, count, map_blocks, root, blocks), 0);
		free(blocks);
		free(map_blocks);
	}
	free(extents);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("file_map");
	TCase *tests = tcase_create("file_map");

	tcase_set_timeout(tests, 120);
	tcase_add_unchecked_fixture(tests, ondisk_image_setup, ondisk_image_teardown);
	tcase_add_loop_test(tests, random_files_are_read_back, 0, sizeof(filesystems) / sizeof(filesystems[0]));
	tcase_add_test(tests, numbers_that_do_not_fit);
	tcase_add_test(tests, numbers_of_48_bits);
	tcase_add_test(tests, unwritten_extents);
	tcase_add_test(tests, kinds_of_extents);
	tcase_add_test(tests, nothing_is_an_empty_root);
	tcase_add_test(tests, holes_cost_no_indirect_blocks);
	tcase_add_test(tests, largest_files);
	tcase_add_test(tests, millions_of_extents);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
