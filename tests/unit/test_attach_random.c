/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random calls of libext2fs, the same on a handle with an allocator and on one without: contents are the same, and
 * after each call the attached one's map, descriptors and counters are what its inodes refer to.
 */
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attach_judge.h"
#include "seeded_random.h"
#include "unit.h"

#define SLOTS 24
#define OWNED_RUNS 16
#define MOST_BYTES (96 << 10)
#define OPERATIONS (is_soak() ? 600u : 300u)
#define LEFT_CLUSTERS 250 /* free, in the full ones */

enum side { OURS, STOCK, SIDES };

struct run {
	uint64_t start;
	uint64_t count;
};

static struct {
	struct random random;
	const struct variant *variant;
	ext2_filsys fs[SIDES];
	ext2_ino_t inodes[SIDES][SLOTS];
	ext2fs_block_bitmap owned; /* that the test has marked by itself, in ours */
	struct run runs[OWNED_RUNS];
	unsigned int failures;
	bool is_over;
	unsigned int made; /* names */
} test;

static char stock_path[128];

static const struct variant {
	const char *options;
	const char *size;
	uint32_t flags;
	bool is_full; /* all but a few blocks are taken first */
} variants[] = {
	{ "-t ext4 -b 1024 -N 256 -O ^has_journal,^orphan_file", "12M", EXT4_EXTENTS_FL, false },
	{ "-t ext4 -b 4096 -N 256 -O ^has_journal,^orphan_file", "32M", EXT4_EXTENTS_FL, false },
	{ "-t ext4 -b 1024 -N 256 -O ^orphan_file", "16M", EXT4_EXTENTS_FL, false },
	{ "-t ext2 -b 1024 -N 256", "12M", 0, false },
	{ "-t ext3 -b 4096 -N 256", "32M", 0, false },
	{ "-t ext4 -b 1024 -N 256 -O bigalloc,^has_journal,^resize_inode,^orphan_file -C 4096", "16M", EXT4_EXTENTS_FL,
	  false },
	{ "-t ext4 -b 4096 -N 256 -O bigalloc,^has_journal,^resize_inode,^orphan_file -C 65536", "48M", EXT4_EXTENTS_FL,
	  false },
	{ "-t ext4 -b 1024 -N 256 -O ^has_journal,^metadata_csum,uninit_bg,^flex_bg,^64bit,^orphan_file", "24M",
	  EXT4_EXTENTS_FL, false },
	{ "-t ext4 -b 1024 -g 1024 -N 256 -O ^has_journal,meta_bg,^resize_inode,^orphan_file", "12M", EXT4_EXTENTS_FL,
	  false },
	{ "-t ext4 -b 1024 -N 128 -O ^has_journal,^orphan_file", "4M", EXT4_EXTENTS_FL, true },
	{ "-t ext2 -b 1024 -N 128", "4M", 0, true },
	{ "-t ext4 -b 1024 -N 128 -O bigalloc,^has_journal,^resize_inode,^orphan_file -C 4096", "8M", EXT4_EXTENTS_FL,
	  true },
};

static uint64_t below(uint64_t limit)
{
	return random_below(&test.random, limit);
}

static uint64_t first_block(void)
{
	return test.fs[OURS]->super->s_first_data_block;
}

static uint64_t blocks(void)
{
	return ext2fs_blocks_count(test.fs[OURS]->super);
}

static uint64_t cluster(void)
{
	return (uint64_t)EXT2FS_CLUSTER_RATIO(test.fs[OURS]);
}

/* --- What is done to both ----------------------------------------------------------------------------------- */

struct call {
	unsigned int slot;
	uint64_t offset;
	uint64_t count;
	uint64_t kind;
	char name[32];
};

static ext2_ino_t *inode_of(enum side side, const struct call *call)
{
	return &test.inodes[side][call->slot];
}

static errcode_t link_name(ext2_filsys fs, const char *name, ext2_ino_t ino)
{
	errcode_t error = ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE);

	if (error != EXT2_ET_DIR_NO_SPACE)
		return error;
	error = ext2fs_expand_dir(fs, EXT2_ROOT_INO);
	return error ? error : ext2fs_link(fs, EXT2_ROOT_INO, name, ino, EXT2_FT_REG_FILE);
}

static errcode_t create(enum side side, const struct call *call)
{
	struct ext2_inode inode = { .i_mode = S_IFREG | 0644, .i_links_count = 1, .i_flags = test.variant->flags };
	ext2_filsys fs = test.fs[side];
	ext2_extent_handle_t handle;
	ext2_ino_t ino;

	errcode_t error = ext2fs_new_inode(fs, EXT2_ROOT_INO, S_IFREG, NULL, &ino);
	if (error)
		return error;
	error = link_name(fs, call->name, ino);
	if (error)
		return error;
	ext2fs_inode_alloc_stats2(fs, ino, 1, 0);
	/* Some programs say how long the file will be before they write it. */
	if (call->kind % 2)
		ck_assert_ok(ext2fs_inode_size_set(fs, &inode, call->count));
	ck_assert_ok(ext2fs_write_new_inode(fs, ino, &inode));
	if (inode.i_flags & EXT4_EXTENTS_FL) {
		ck_assert_ok(ext2fs_extent_open2(fs, ino, &inode, &handle));
		ext2fs_extent_free(handle);
		ck_assert_ok(ext2fs_write_inode(fs, ino, &inode));
	}
	*inode_of(side, call) = ino;
	return 0;
}

static void fill(char *bytes, const struct call *call)
{
	for (uint64_t at = 0; at < call->count; at++)
		bytes[at] = (char)(call->kind + at / 7 + 1);
}

/* In steps, as programs do. */
static errcode_t write_file(enum side side, const struct call *call)
{
	static char bytes[MOST_BYTES];
	ext2_filsys fs = test.fs[side];
	ext2_file_t file;
	unsigned int step = call->kind % 3 ? fs->blocksize : MOST_BYTES, done;
	errcode_t error = ext2fs_file_open(fs, *inode_of(side, call), EXT2_FILE_WRITE, &file);

	ck_assert_ok(error);
	fill(bytes, call);
	error = ext2fs_file_llseek(file, call->offset, EXT2_SEEK_SET, NULL);
	for (uint64_t at = 0; at < call->count && !error; at += step) {
		unsigned int count = call->count - at < step ? (unsigned int)(call->count - at) : step;

		error = ext2fs_file_write(file, bytes + at, count, &done);
	}
	errcode_t close_error = ext2fs_file_close(file);
	return error ? error : close_error;
}

static errcode_t truncate_file(enum side side, const struct call *call)
{
	ext2_file_t file;

	ck_assert_ok(ext2fs_file_open(test.fs[side], *inode_of(side, call), EXT2_FILE_WRITE, &file));
	errcode_t error = ext2fs_file_set_size2(file, (ext2_off64_t)call->offset);
	errcode_t close_error = ext2fs_file_close(file);
	return error ? error : close_error;
}

static errcode_t punch(enum side side, const struct call *call)
{
	unsigned int bits = EXT2_BLOCK_SIZE_BITS(test.fs[side]->super);
	uint64_t start = call->offset >> bits;

	if (!(test.variant->flags & EXT4_EXTENTS_FL))
		return 0;

	return ext2fs_punch(test.fs[side], *inode_of(side, call), NULL, NULL, start, start + (call->count >> bits));
}

static int release_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t logical, blk64_t reference, int offset,
                         void *context)
{
	(void)logical, (void)reference, (void)offset, (void)context;
	ext2fs_block_alloc_stats2(fs, *block, -1);
	return 0;
}

/* Before 1.47.4 ext2fs_punch() frees too much of indirect-mapped files, or fails. */
static errcode_t unlink_file(enum side side, const struct call *call)
{
	ext2_filsys fs = test.fs[side];
	ext2_ino_t ino = *inode_of(side, call);
	struct ext2_inode inode;

	*inode_of(side, call) = 0;
	ck_assert_ok(ext2fs_unlink(fs, EXT2_ROOT_INO, NULL, ino, 0));
	ck_assert_ok(ext2fs_read_inode(fs, ino, &inode));
	errcode_t error = ext2fs_free_ext_attr(fs, ino, NULL);
	(void)error; /* it may have none */
	ck_assert_ok(ext2fs_read_inode(fs, ino, &inode));
	if (inode.i_flags & EXT4_EXTENTS_FL)
		ck_assert_ok(ext2fs_punch(fs, ino, &inode, NULL, 0, ~0ULL));
	else if (ext2fs_inode_has_valid_blocks2(fs, &inode))
		ck_assert_ok(ext2fs_block_iterate3(fs, ino, BLOCK_FLAG_READ_ONLY, NULL, release_block, NULL));
	inode.i_links_count = 0;
	inode.i_dtime = (uint32_t)time(NULL);
	ck_assert_ok(ext2fs_write_inode(fs, ino, &inode));
	ext2fs_inode_alloc_stats2(fs, ino, -1, 0);
	return 0;
}

static errcode_t make_directory(enum side side, const struct call *call)
{
	errcode_t error = ext2fs_mkdir(test.fs[side], EXT2_ROOT_INO, 0, call->name);

	if (error != EXT2_ET_DIR_NO_SPACE)
		return error;
	error = ext2fs_expand_dir(test.fs[side], EXT2_ROOT_INO);
	return error ? error : ext2fs_mkdir(test.fs[side], EXT2_ROOT_INO, 0, call->name);
}

static errcode_t expand_directory(enum side side, const struct call *call)
{
	(void)call;
	return ext2fs_expand_dir(test.fs[side], EXT2_ROOT_INO);
}

static errcode_t make_symlink(enum side side, const struct call *call)
{
	char target[201];

	memset(target, 'a' + (int)(call->kind % 26), sizeof(target) - 1);
	target[sizeof(target) - 1] = 0;
	errcode_t error = ext2fs_symlink(test.fs[side], EXT2_ROOT_INO, 0, call->name, target);
	if (error != EXT2_ET_DIR_NO_SPACE)
		return error;
	error = ext2fs_expand_dir(test.fs[side], EXT2_ROOT_INO);
	return error ? error : ext2fs_symlink(test.fs[side], EXT2_ROOT_INO, 0, call->name, target);
}

/* The file does not end before that. */
static void lengthen(enum side side, const struct call *call, uint64_t bytes)
{
	struct ext2_inode inode;

	ck_assert_ok(ext2fs_read_inode(test.fs[side], *inode_of(side, call), &inode));
	if (EXT2_I_SIZE(&inode) < bytes)
		ck_assert_ok(ext2fs_inode_size_set(test.fs[side], &inode, bytes));
	ck_assert_ok(ext2fs_write_inode(test.fs[side], *inode_of(side, call), &inode));
}

/*
 * What libext2fs was to have zeroed by itself: unix_io's zeroout goes past its cache, so that what was there before may
 * be read, depending on where the blocks are (1.47.0).
 */
static void zero_blocks(enum side side, const struct call *call, uint64_t logical, uint64_t end)
{
	static const char zeros[65536];

	for (; logical < end; logical++) {
		blk64_t block = 0;

		ck_assert_ok(ext2fs_bmap2(test.fs[side], *inode_of(side, call), NULL, NULL, 0, logical, NULL, &block));
		if (block)
			ck_assert_ok(io_channel_write_blk64(test.fs[side]->io, block, 1, zeros));
	}
}

static errcode_t allocate_file(enum side side, const struct call *call)
{
	static const int kinds[] = { 0, EXT2_FALLOCATE_FORCE_INIT | EXT2_FALLOCATE_ZERO_BLOCKS,
		                     EXT2_FALLOCATE_FORCE_UNINIT, EXT2_FALLOCATE_INIT_BEYOND_EOF };
	unsigned int bits = EXT2_BLOCK_SIZE_BITS(test.fs[side]->super);
	uint64_t kind = call->kind % 4;
	struct ext2_inode inode;

	/* Beside blocks that the file has, 1.47.0 would zero these as well. */
	ck_assert_ok(ext2fs_read_inode(test.fs[side], *inode_of(side, call), &inode));
	if (kind == 1 && inode.i_blocks)
		kind = 2;
	lengthen(side, call, call->offset + call->count);
	errcode_t error = ext2fs_fallocate(test.fs[side], kinds[kind], *inode_of(side, call), NULL, ~0ULL,
	                                   call->offset >> bits, call->count >> bits);

	if (!error && kind == 1)
		zero_blocks(side, call, call->offset >> bits, (call->offset >> bits) + (call->count >> bits));
	return error;
}

static errcode_t set_xattr(enum side side, const struct call *call)
{
	struct ext2_xattr_handle *handle;
	char value[600];

	memset(value, (int)(call->kind % 251), sizeof(value));
	ck_assert_ok(ext2fs_xattrs_open(test.fs[side], *inode_of(side, call), &handle));
	errcode_t error = ext2fs_xattrs_read(handle);
	if (!error)
		error = call->kind % 4 ? ext2fs_xattr_set(handle, "user.long", value, sizeof(value)) :
		                         ext2fs_xattr_remove(handle, "user.long");
	errcode_t close_error = ext2fs_xattrs_close(&handle);
	return error == EXT2_ET_EA_KEY_NOT_FOUND ? 0 : error ? error : close_error;
}

/* BMAP_ZERO also zeroes a block that the file has already, with its contents, again past the cache (1.47.0). */
static errcode_t map_block(enum side side, const struct call *call)
{
	uint64_t logical = call->offset >> EXT2_BLOCK_SIZE_BITS(test.fs[side]->super);
	blk64_t block = 0;

	lengthen(side, call, call->offset + test.fs[side]->blocksize);
	errcode_t error = ext2fs_bmap2(test.fs[side], *inode_of(side, call), NULL, NULL, BMAP_ALLOC | BMAP_ZERO,
	                               logical, NULL, &block);
	if (!error)
		zero_blocks(side, call, logical, logical + 1);
	return error;
}

static errcode_t flush(enum side side, const struct call *call)
{
	return call->kind % 4 ? 0 : ext2fs_flush(test.fs[side]);
}

/* --- What is done to ours alone ----------------------------------------------------------------------------- */

static struct run *free_run(void)
{
	for (unsigned int index = 0; index < OWNED_RUNS; index++)
		if (!test.runs[index].count)
			return &test.runs[index];
	return NULL;
}

static void own(uint64_t start, uint64_t count)
{
	struct run *run = free_run();

	*run = (struct run){ start, count };
	for (uint64_t block = start; block < start + count; block++)
		ext2fs_mark_block_bitmap2(test.owned, block);
}

/* Marked without a word to anyone, as debugfs's setb does; but the descriptor must be right for the judge. */
static void mark_in_silence(ext2_filsys fs, uint64_t block, int in_use)
{
	void (*hook)(ext2_filsys, blk64_t, int) = fs->block_alloc_stats;

	fs->block_alloc_stats = NULL;
	ext2fs_block_alloc_stats2(fs, block, in_use);
	fs->block_alloc_stats = hook;
}

/* Somebody looks for free blocks in the map and marks them. */
static void mark_by_hand(uint64_t kind)
{
	ext2_filsys fs = test.fs[OURS];
	uint64_t clusters = (blocks() - first_block()) / cluster();
	uint64_t start = first_block() + below(clusters) * cluster(), count = (1 + below(4)) * cluster();
	blk64_t found;

	if (!free_run() || ext2fs_get_free_blocks2(fs, start, start, (int)count, NULL, &found))
		return;
	for (uint64_t block = found; block < found + count && kind % 3; block += cluster())
		if (kind % 3 == 1)
			mark_in_silence(fs, block, 1);
		else
			ext2fs_block_alloc_stats2(fs, block, 1);
	if (kind % 3 == 0)
		ext2fs_block_alloc_stats_range(fs, found, (blk_t)count, 1);
	own(found, count);
}

static void free_by_hand(uint64_t kind)
{
	ext2_filsys fs = test.fs[OURS];
	struct run *run = &test.runs[below(OWNED_RUNS)];

	for (uint64_t block = run->start; block < run->start + run->count; block++)
		ext2fs_unmark_block_bitmap2(test.owned, block);
	for (uint64_t block = run->start; block < run->start + run->count && kind % 3; block += cluster())
		if (kind % 3 == 1)
			mark_in_silence(fs, block, -1);
		else
			ext2fs_block_alloc_stats2(fs, block, -1);
	if (kind % 3 == 0 && run->count)
		ext2fs_block_alloc_stats_range(fs, run->start, (blk_t)run->count, -1);
	run->count = 0;
}

/* Asked for and not taken, twice; then a range that is taken in part. */
static void take_nothing(uint64_t kind)
{
	ext2_filsys fs = test.fs[OURS];
	uint64_t goal = first_block() + below(blocks() - first_block()), count = (1 + below(300)) * cluster();
	blk64_t block, start, taken;

	if (!ext2fs_new_block2(fs, goal, NULL, &block))
		ck_assert(!ext2fs_test_block_bitmap2(fs->block_map, block));
	if (!ext2fs_new_block2(fs, block, NULL, &block))
		ck_assert(!ext2fs_test_block_bitmap2(fs->block_map, block));
	goal -= (goal - first_block()) % cluster();
	if (ext2fs_new_range(fs, (int)(kind % 4), goal, count, NULL, &start, &taken))
		return;
	ck_assert_uint_le(taken, count);
	ck_assert(!(kind % 4 & EXT2_NEWRANGE_FIXED_GOAL) || start == goal);
	ck_assert(!(kind % 4 & EXT2_NEWRANGE_MIN_LENGTH) || taken == count);
	ck_assert(ext2fs_test_block_bitmap_range2(fs->block_map, start, (blk_t)taken));
	taken = (1 + below(taken / cluster())) * cluster();
	if (!free_run() || kind % 8 < 4)
		return;
	ext2fs_block_alloc_stats_range(fs, start, (blk_t)taken, 1);
	own(start, taken);
}

static void attach_anew(uint64_t kind)
{
	ext2_filsys fs = test.fs[OURS];

	if (kind % 4)
		return;
	ck_assert_ok(ext2mb_detach(fs));
	attach_judge(fs, test.owned, "detaching");
	ck_assert_ok(ext2mb_attach(fs, NULL));
}

/* --- Comparing ---------------------------------------------------------------------------------------------- */

static void compare_file(unsigned int slot)
{
	static char bytes[SIDES][65536];
	ext2_file_t files[SIDES];
	uint64_t sizes[SIDES];
	unsigned int got[SIDES];

	for (enum side side = OURS; side < SIDES; side++) {
		ck_assert_ok(ext2fs_file_open(test.fs[side], test.inodes[side][slot], 0, &files[side]));
		ck_assert_ok(ext2fs_file_get_lsize(files[side], (__u64 *)&sizes[side]));
	}
	ck_assert_uint_eq(sizes[OURS], sizes[STOCK]);
	do {
		for (enum side side = OURS; side < SIDES; side++)
			ck_assert_ok(ext2fs_file_read(files[side], bytes[side], sizeof(bytes[side]), &got[side]));
		ck_assert_uint_eq(got[OURS], got[STOCK]);
		ck_assert(!memcmp(bytes[OURS], bytes[STOCK], got[OURS]));
	} while (got[OURS]);
	for (enum side side = OURS; side < SIDES; side++)
		ck_assert_ok(ext2fs_file_close(files[side]));
}

static void compare_all(void)
{
	for (unsigned int slot = 0; slot < SLOTS; slot++)
		if (test.inodes[OURS][slot] && test.inodes[STOCK][slot])
			compare_file(slot);
}

/* --- The run ------------------------------------------------------------------------------------------------ */

typedef errcode_t (*operation_function)(enum side side, const struct call *call);

static const struct operation {
	const char *name;
	operation_function function;
	bool needs_file;
	unsigned int weight;
} operations[] = {
	{ "writing", write_file, true, 30 },   { "truncating", truncate_file, true, 6 },
	{ "punching", punch, true, 6 },        { "unlinking", unlink_file, true, 4 },
	{ "mkdir", make_directory, false, 2 }, { "expand_dir", expand_directory, false, 1 },
	{ "symlink", make_symlink, false, 2 }, { "fallocate", allocate_file, true, 8 },
	{ "xattr", set_xattr, true, 5 },       { "bmap", map_block, true, 6 },
	{ "flush", flush, false, 2 },
};

static const struct operation *choose(void)
{
	unsigned int sum = 0;

	for (size_t index = 0; index < sizeof(operations) / sizeof(*operations); index++)
		sum += operations[index].weight;
	uint64_t at = below(sum);
	const struct operation *operation = operations;
	while (at >= operation->weight)
		at -= operation++->weight;
	return operation;
}

static struct call draw(void)
{
	struct call call = { .slot = (unsigned int)below(SLOTS), .kind = below(1 << 16) };
	uint64_t size = test.fs[OURS]->blocksize;

	call.offset = below(4) ? below(64) * size + (below(2) ? below(size) : 0) : below(600) * size;
	call.count = 1 + below(below(3) ? 8 * size : MOST_BYTES - 1);
	snprintf(call.name, sizeof(call.name), "n%u", test.made++);
	return call;
}

/*
 * After a failure in one of them the file is no more: what a call that fails leaves behind differs. With extents it is
 * the end, and with directories, too: libext2fs 1.47.0, with no allocator as well, damages trees where a block for a
 * node is lacking, and does not count a directory's indirect block where the next one is lacking.
 */
static void forget(const struct call *call, bool has_file)
{
	test.failures++;
	test.is_over = test.variant->flags & EXT4_EXTENTS_FL || !has_file;
	if (test.is_over)
		return;
	for (enum side side = OURS; side < SIDES; side++) {
		if (has_file && *inode_of(side, call))
			unlink_file(side, call);
		attach_free_lost(test.fs[side], side == OURS ? test.owned : NULL);
	}
}

static void call_both(const struct operation *operation, const struct call *call)
{
	errcode_t error = operation->function(OURS, call), stock_error = operation->function(STOCK, call);

	if (error || stock_error) {
		if (!test.variant->is_full)
			ck_abort_msg("%s: %s, stock: %s", operation->name, error_message(error),
			             error_message(stock_error));
		/* A block that no node of the tree could be had for has been freed again. */
		if (error == EXT2_ET_BLOCK_ALLOC_FAIL)
			ck_assert_uint_le(ext2fs_free_blocks_count(test.fs[OURS]->super),
			                  test.variant->flags & EXT4_EXTENTS_FL ? cluster() : 0);
		forget(call, operation->needs_file || operation->function == create);
	}
	if (test.is_over)
		return;
	attach_judge(test.fs[OURS], test.owned, operation->name);
	attach_check_books(test.fs[OURS]);
}

static void do_one(void)
{
	static const struct operation creation = { .name = "creating", .function = create, .needs_file = true };
	static void (*const alone[])(uint64_t) = { mark_by_hand, free_by_hand, take_nothing, attach_anew };
	const struct operation *operation = choose();
	struct call call = draw();

	if (!below(6)) {
		alone[below(4)](call.kind);
		attach_judge(test.fs[OURS], test.owned, "marking by hand");
		attach_check_books(test.fs[OURS]);
	}
	if (operation->needs_file && !test.inodes[OURS][call.slot])
		operation = &creation;
	call_both(operation, &call);
	if (!test.is_over && test.inodes[OURS][call.slot] && test.inodes[STOCK][call.slot])
		compare_file(call.slot);
}

/* A file takes all but a few blocks. */
static void fill_up(enum side side)
{
	ext2_filsys fs = test.fs[side];
	const struct call call = { .name = "ballast" };
	uint64_t count = ext2fs_free_blocks_count(fs->super) - LEFT_CLUSTERS * (uint64_t)EXT2FS_CLUSTER_RATIO(fs);

	ck_assert_ok(create(side, &call));
	lengthen(side, &call, count * fs->blocksize);
	ck_assert_ok(ext2fs_fallocate(fs, 0, *inode_of(side, &call), NULL, ~0ULL, 0, count));
	*inode_of(side, &call) = 0;
}

static void open_both(void)
{
	char command[400];

	mb_image_make(test.variant->options, test.variant->size);
	snprintf(stock_path, sizeof(stock_path), "%s.stock", mb_image_path());
	snprintf(command, sizeof(command), "cp '%s' '%s'", mb_image_path(), stock_path);
	ck_assert_int_eq(system(command), 0);
	test.fs[OURS] = mb_image_open();
	ck_assert_ok(ext2fs_open(stock_path, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &test.fs[STOCK]));
	for (enum side side = OURS; side < SIDES; side++)
		ck_assert_ok(ext2fs_read_bitmaps(test.fs[side]));
	for (enum side side = OURS; side < SIDES && test.variant->is_full; side++)
		fill_up(side);
	ck_assert_ok(ext2fs_allocate_block_bitmap(test.fs[OURS], "owned", &test.owned));
	ck_assert_ok(ext2mb_attach(test.fs[OURS], NULL));
}

static void close_both(void)
{
	for (unsigned int index = 0; index < OWNED_RUNS; index++) {
		for (uint64_t block = test.runs[index].start; block < test.runs[index].start + test.runs[index].count;
		     block += cluster())
			ext2fs_block_alloc_stats2(test.fs[OURS], block, -1);
		test.runs[index].count = 0;
	}
	ck_assert_ok(ext2mb_detach(test.fs[OURS]));
	ext2fs_free_block_bitmap(test.owned);
	for (enum side side = OURS; side < SIDES; side++)
		ck_assert_ok(ext2fs_close_free(&test.fs[side]));
	if (test.is_over) {
		unlink(stock_path);
		return;
	}
	mb_image_check();
	test.fs[OURS] = mb_image_open();
	ck_assert_ok(ext2fs_open(stock_path, EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &test.fs[STOCK]));
	compare_all();
	for (enum side side = OURS; side < SIDES; side++)
		ck_assert_ok(ext2fs_close_free(&test.fs[side]));
	unlink(stock_path);
}

START_TEST(test_random)
{
	memset(&test, 0, sizeof(test));
	test.variant = &variants[_i];
	test.random = random_start("attach random");
	open_both();
	for (uint64_t count = mb_operations(OPERATIONS); count && !test.is_over; count--)
		do_one();
	if (test.variant->is_full)
		ck_assert_uint_gt(test.failures, 0);
	close_both();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("attach_random");
	TCase *random = mb_image_case(suite);

	tcase_add_loop_test(random, test_random, 0, sizeof(variants) / sizeof(*variants));
	return run_suite(suite);
}
