/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes of quota files against a model: files as lib/ondisk/quota_file.h writes them, changed at random, must have
 * each owner's usage, and no block may be lost. (What e2fsck says of them is in tests/drop-files.)
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ondisk/quota_tree.h"
#include "seeded_random.h"
#include "unit.h"

#define MOST_BLOCKS 20000

struct memory_file {
	struct quota_blocks blocks;
	uint8_t *bytes;
	unsigned int writes;
};

static errcode_t read_block(struct quota_blocks *blocks, uint32_t number, void *bytes)
{
	ck_assert_uint_lt(number, blocks->count);
	memcpy(bytes, ((struct memory_file *)blocks)->bytes + (size_t)number * QUOTA_BLOCK_BYTES, QUOTA_BLOCK_BYTES);
	return 0;
}

static errcode_t write_block(struct quota_blocks *blocks, uint32_t number, const void *bytes)
{
	ck_assert_uint_lt(number, blocks->count);
	memcpy(((struct memory_file *)blocks)->bytes + (size_t)number * QUOTA_BLOCK_BYTES, bytes, QUOTA_BLOCK_BYTES);
	((struct memory_file *)blocks)->writes++;
	return 0;
}

static errcode_t append(struct quota_blocks *blocks)
{
	if (blocks->count == MOST_BLOCKS)
		return ENOSPC;
	memset(((struct memory_file *)blocks)->bytes + (size_t)blocks->count * QUOTA_BLOCK_BYTES, 0, QUOTA_BLOCK_BYTES);
	blocks->count++;
	return 0;
}

static struct memory_file make_file(const struct quota_entry *entries, size_t count)
{
	struct memory_file file = {
		{ (uint32_t)(quota_file_bytes(entries, count) / QUOTA_BLOCK_BYTES), read_block, write_block, append },
		malloc((size_t)MOST_BLOCKS * QUOTA_BLOCK_BYTES),
		0,
	};

	quota_file_encode(QUOTA_OF_GROUPS, entries, count, file.bytes);
	return file;
}

static void change(struct memory_file *file, uint32_t id, int64_t inodes, int64_t bytes)
{
	struct quota_tree tree;

	ck_assert_int_eq(quota_tree_open(&tree, QUOTA_OF_GROUPS, &file->blocks), 0);
	ck_assert_int_eq(quota_tree_change(&tree, id, inodes, bytes), 0);
	ck_assert_int_eq(quota_tree_close(&tree), 0);
}

static struct quota_entry find(struct memory_file *file, uint32_t id)
{
	struct quota_entry entry;
	struct quota_tree tree;

	ck_assert_int_eq(quota_tree_open(&tree, QUOTA_OF_GROUPS, &file->blocks), 0);
	ck_assert_int_eq(quota_tree_find(&tree, id, &entry), 0);
	return entry;
}

static uint32_t word(const struct memory_file *file, uint32_t block, unsigned int number)
{
	uint32_t value;

	memcpy(&value, file->bytes + (size_t)block * QUOTA_BLOCK_BYTES + 4 * number, sizeof(value));
	return le32toh(value);
}

/* Blocks of the tree and of entries below a number; among these, how many have room. */
static uint32_t count_blocks(const struct memory_file *file, uint32_t block, int level, bool *seen, uint32_t *with_room)
{
	uint32_t count = !seen[block];

	*with_room += level == 4 && !seen[block] && (word(file, block, 2) & 0xffff) < 14;
	seen[block] = true;
	for (unsigned int index = 0; level < 4 && index < 256; index++)
		if (word(file, block, index))
			count += count_blocks(file, word(file, block, index), level + 1, seen, with_room);
	return count;
}

/* Each block is the header, of the tree, of entries, or free; one with 1 to 13 entries is in the list of those with
 * room. */
static void check_blocks(const struct memory_file *file)
{
	static bool seen[MOST_BLOCKS];
	uint32_t used, free = 0, room = 0, with_room = 0;

	memset(seen, 0, sizeof(seen));
	used = 1 + count_blocks(file, 1, 0, seen, &with_room);
	for (uint32_t block = word(file, 0, 6); block; block = word(file, block, 0), free++)
		ck_assert(!seen[block]);
	for (uint32_t block = word(file, 0, 7), previous = 0; block; previous = block, block = word(file, block, 0)) {
		ck_assert(seen[block]);
		ck_assert_uint_eq(word(file, block, 1), previous);
		ck_assert_uint_gt(word(file, block, 2) & 0xffff, 0);
		ck_assert_uint_lt(word(file, block, 2) & 0xffff, 14);
		room++;
	}
	ck_assert_uint_eq(room, with_room);
	ck_assert_uint_eq(used + free, word(file, 0, 5));
	ck_assert_uint_eq(word(file, 0, 5), file->blocks.count);
}

START_TEST(usage_is_that_of_a_model)
{
	enum { IDS = 400, CHANGES = 20000 };
	static struct quota_entry model[IDS], some[IDS];
	struct random random = random_start("quota_tree");
	size_t count = 0;

	for (uint32_t n = 0; n < IDS; n++) {
		model[n] = (struct quota_entry){ .id = n % 3 ? n * 11u : n * 10735123u };
		if (n % 2)
			model[n].inodes = n;
	}
	/* Encoded by ascending id. */
	for (uint64_t id = 0, last = 0; last <= UINT32_MAX; last = id + 1) {
		size_t next = IDS;

		for (size_t n = 0; n < IDS; n++)
			if (model[n].inodes && model[n].id >= last && (next == IDS || model[n].id < model[next].id))
				next = n;
		if (next == IDS)
			break;
		id = model[next].id;
		some[count++] = model[next];
	}
	struct memory_file file = make_file(some, count);

	for (int n = 0; n < CHANGES; n++) {
		struct quota_entry *entry = &model[random_below(&random, IDS)];
		bool is_removed = random_below(&random, n % 4000 < 2000 ? 5 : 2) == 1;
		int64_t inodes = is_removed ? -(int64_t)entry->inodes : (int64_t)random_below(&random, 100);
		int64_t bytes = is_removed ? -(int64_t)entry->space_bytes : (int64_t)random_below(&random, 1 << 30);

		change(&file, entry->id, inodes, bytes);
		entry->inodes += (uint64_t)inodes;
		entry->space_bytes += (uint64_t)bytes;
		struct quota_entry found = find(&file, entry->id);

		ck_assert_uint_eq(found.inodes, entry->inodes);
		ck_assert_uint_eq(found.space_bytes, entry->space_bytes);
		if (n % 500 == 0)
			check_blocks(&file);
	}
	for (size_t n = 0; n < IDS; n++) {
		struct quota_entry found = find(&file, model[n].id);

		ck_assert_uint_eq(found.inodes, model[n].inodes);
		ck_assert_uint_eq(found.space_bytes, model[n].space_bytes);
		change(&file, model[n].id, INT64_MIN, INT64_MIN);
	}
	check_blocks(&file);
	/* All blocks but header and root are free. */
	uint32_t free_blocks = 0;

	for (uint32_t block = word(&file, 0, 6); block; block = word(&file, block, 0))
		free_blocks++;
	ck_assert_uint_eq(free_blocks, file.blocks.count - 2);
	ck_assert_uint_eq(word(&file, 0, 7), 0);
	free(file.bytes);
}
END_TEST

/* Usage ends at zero; an entry with limits stays, and its limits too. */
START_TEST(limits_stay)
{
	const struct quota_entry one = { 7, 5, 4096 };
	struct memory_file file = make_file(&one, 1);
	uint64_t limit = htole64(99);

	memcpy(file.bytes + 5 * QUOTA_BLOCK_BYTES + 16 + 8, &limit, sizeof(limit));
	change(&file, 7, -6, -5000);
	ck_assert_uint_eq(find(&file, 7).inodes, 0);
	ck_assert_uint_eq(find(&file, 7).space_bytes, 0);
	ck_assert_int_eq(memcmp(file.bytes + 5 * QUOTA_BLOCK_BYTES + 16 + 8, &limit, sizeof(limit)), 0);
	ck_assert_uint_eq(word(&file, 0, 6), 0);
	change(&file, 7, 3, 1);
	ck_assert_uint_eq(find(&file, 7).inodes, 3);
	/* Nothing is written for an owner that uses nothing, and has no entry. */
	file.writes = 0;
	change(&file, 8, -3, 0);
	ck_assert_uint_eq(file.writes, 0);
	free(file.bytes);
}
END_TEST

static void expect_damage(struct memory_file *file, uint32_t id, errcode_t opening)
{
	struct quota_tree tree;
	errcode_t error = quota_tree_open(&tree, QUOTA_OF_GROUPS, &file->blocks);

	ck_assert_int_eq(error, opening);
	if (!error)
		ck_assert_int_eq(quota_tree_change(&tree, id, 1, 1), EUCLEAN);
}

static void put_word(struct memory_file *file, uint32_t block, unsigned int number, uint32_t value)
{
	value = htole32(value);
	memcpy(file->bytes + (size_t)block * QUOTA_BLOCK_BYTES + 4 * number, &value, sizeof(value));
}

/* Blocks: header, root, three of the tree, entries. */
START_TEST(damage_is_found)
{
	static const struct {
		uint32_t block, number, value, id;
		errcode_t opening;
	} damages[] = {
		{ 0, 0, 0xd9c01f11, 7, EUCLEAN }, /* of users */
		{ 0, 1, 0, 7, EUCLEAN },          /* version */
		{ 0, 5, 7, 7, EUCLEAN },          /* more blocks than the file */
		{ 0, 5, 1, 7, EUCLEAN },          /* no root */
		{ 0, 6, 1, 7, EUCLEAN },          /* the root is free */
		{ 0, 7, 6, 7, EUCLEAN },          /* beyond */
		{ 1, 0, 99, 7, 0 },               /* beyond */
		{ 1, 0, 1, 7, 0 },                /* the root below itself */
		{ 3, 0, 2, 7, 0 },                /* a block twice on the way */
		{ 5, 2, 15, 7, 0 },               /* entries */
		{ 5, 4, 6, 7, 0 },                /* another id */
		{ 5, 0, 5, 7, 0 },                /* its own next */
		{ 0, 7, 4, 8, 0 },                /* a block of the tree has room */
	};

	for (size_t n = 0; n < sizeof(damages) / sizeof(*damages); n++) {
		const struct quota_entry one = { 7, 5, 4096 };
		struct memory_file file = make_file(&one, 1);

		put_word(&file, damages[n].block, damages[n].number, damages[n].value);
		expect_damage(&file, damages[n].id, damages[n].opening);
		free(file.bytes);
	}
}
END_TEST

START_TEST(a_file_that_cannot_grow)
{
	const struct quota_entry one = { 7, 5, 4096 };
	struct memory_file file = make_file(&one, 1);
	struct quota_tree tree;

	file.blocks.append = NULL;
	ck_assert_int_eq(quota_tree_open(&tree, QUOTA_OF_GROUPS, &file.blocks), 0);
	ck_assert_int_eq(quota_tree_change(&tree, 8, 1, 1), 0);
	ck_assert_int_eq(quota_tree_change(&tree, 1u << 30, 1, 1), ENOSPC);
	free(file.bytes);
}
END_TEST

static Suite *quota_tree_suite(void)
{
	Suite *suite = suite_create("quota_tree");
	TCase *tree = tcase_create("tree");

	tcase_set_timeout(tree, 120);
	tcase_add_test(tree, usage_is_that_of_a_model);
	tcase_add_test(tree, limits_stay);
	tcase_add_test(tree, damage_is_found);
	tcase_add_test(tree, a_file_that_cannot_grow);
	suite_add_tcase(suite, tree);
	return suite;
}

int main(void)
{
	return run_suite(quota_tree_suite());
}
