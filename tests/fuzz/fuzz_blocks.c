/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Single blocks of the disk: a journal's superblock, a block of the orphan file, a node of an extent tree, a
 * block of a directory, an inode with its xattrs, which may go on as a block of them. The first byte says which; the
 * bytes are copied to where nothing follows them. Bytes from 240 on: a quota file, or an inode's i_block and the blocks
 * of its map, which are also changed.
 */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ondisk/journal_block.h"
#include "ondisk/inode_change.h"
#include "ondisk/map_cut.h"
#include "ondisk/orphan_block.h"
#include "ondisk/posix_acl.h"
#include "ondisk/quota_tree.h"
#include "ondisk/views.h"
#include "ondisk/xattr_read.h"

#define BLOCK_BYTES 1024

static void read_journal(const uint8_t *block)
{
	struct journal_superblock super, again;
	uint8_t copy[JOURNAL_SUPERBLOCK_BYTES];

	if (journal_superblock_read(block, &super) != JOURNAL_SUPERBLOCK_GOOD)
		return;
	FUZZ_CHECK(super.first < journal_log_end(&super) && journal_log_end(&super) <= super.blocks);
	/* As the journal is opened: its blocks are the filesystem's. */
	if (super.block_bytes != BLOCK_BYTES)
		return;
	struct journal_format format = journal_format_of(&super);

	FUZZ_CHECK(journal_descriptor_tags(&format) > 0);
	FUZZ_CHECK(journal_transaction_blocks(&format, 1) == 3);
	/* Such a journal's own blocks fit, and its contents come back. */
	SCOPE_FREE uint8_t *written = malloc(BLOCK_BYTES);
	uint8_t contents[BLOCK_BYTES];

	FUZZ_CHECK(written);
	memcpy(contents, block, sizeof(contents));
	FUZZ_CHECK(journal_escape(contents));
	const struct journal_tag tag = { .block = 5, .contents = contents, .is_escaped = true };

	journal_descriptor_write(&format, super.sequence, &tag, 1, written);
	journal_commit_write(&format, super.sequence, 1, 2, written);
	journal_unescape(contents);
	FUZZ_CHECK(memcmp(contents, block, sizeof(contents)) == 0);
	/* What is written back is read as what it was. */
	memcpy(copy, block, sizeof(copy));
	journal_superblock_update(copy, &super);
	FUZZ_CHECK(journal_superblock_read(copy, &again) == JOURNAL_SUPERBLOCK_GOOD);
	FUZZ_CHECK(again.start == super.start && again.sequence == super.sequence && again.incompat == super.incompat);
}

static void read_orphans(const uint8_t *block, bool has_checksums)
{
	const struct ondisk_format format = { .block_bytes = BLOCK_BYTES,
		                              .block_bits = 10,
		                              .checksums = has_checksums };
	SCOPE_FREE uint32_t *slots = calloc(orphan_block_slots(&format), sizeof(*slots));
	uint8_t written[BLOCK_BYTES];

	FUZZ_CHECK(slots);
	if (orphan_block_read(&format, 7, 99, block, slots) != ORPHAN_BLOCK_GOOD)
		return;
	orphan_block_write(&format, 7, 99, slots, written);
	FUZZ_CHECK(orphan_block_read(&format, 7, 99, written, slots) == ORPHAN_BLOCK_GOOD);
}

static void read_extents(const uint8_t *block, size_t count)
{
	struct extent_node node;

	if (!extent_node_read(block, count, &node))
		return;
	for (unsigned int n = 0; n < node.count; n++) {
		if (node.depth)
			extent_node_index(&node, n);
		else
			extent_node_leaf(&node, n);
	}
}

static void read_directory(const uint8_t *block, size_t count)
{
	struct directory_cursor cursor = { .bytes = block, .byte_count = count };
	struct directory_entry entry;

	while (directory_entries_next(&cursor, &entry))
		FUZZ_CHECK((const uint8_t *)entry.name >= block &&
		           (const uint8_t *)entry.name + entry.name_bytes <= block + count);
	FUZZ_CHECK(directory_entries_index_levels(block, count) < 4);
}

/* An ACL that is read can be written, if it is one that setxattr(2) takes. */
static void read_acl(const struct xattr_entry *entry)
{
	uint32_t value_bytes, disk_bytes;

	if (posix_acl_decode_measure(entry->value, entry->value_bytes, &value_bytes))
		return;
	SCOPE_FREE uint8_t *value = malloc(value_bytes);

	FUZZ_CHECK(value);
	posix_acl_decode(entry->value, entry->value_bytes, value);
	FUZZ_CHECK(posix_acl_measure(value, value_bytes, &disk_bytes) || disk_bytes == entry->value_bytes);
}

static void read_xattrs(struct xattr_cursor cursor, const uint8_t *start, size_t count)
{
	struct xattr_entry entry;
	char name[XATTR_WHOLE_NAME_BYTES];

	while (xattr_entries_next(&cursor, &entry)) {
		FUZZ_CHECK((const uint8_t *)entry.name + entry.name_bytes <= start + count);
		FUZZ_CHECK(entry.value_ino ? !entry.value : entry.value + entry.value_bytes <= start + count);
		xattr_entry_differs(&entry, 1);
		if (xattr_entry_name(&entry, name))
			FUZZ_CHECK(strlen(name) < sizeof(name));
		if (entry.value && xattr_entry_is_acl(&entry))
			read_acl(&entry);
	}
}

static void check_decoded(const struct ondisk_format *format, const uint8_t *bytes)
{
	struct inode_decoded inode;
	uint32_t major, minor;

	inode_decode(format, bytes, &inode);
	FUZZ_CHECK(inode.extra_isize <= format->inode_bytes - 128);
	FUZZ_CHECK(inode.value.mtime.nanoseconds < 1000000000 && inode.value.crtime.nanoseconds < 1000000000);
	SCOPE_FREE uint8_t *again = malloc(format->inode_bytes);

	FUZZ_CHECK(again);
	memcpy(again, bytes, format->inode_bytes);
	FUZZ_CHECK(!inode_change(format, 12, &inode, again) && !memcmp(again, bytes, format->inode_bytes));
	inode_root_read_device(inode.value.root, &major, &minor);
	FUZZ_CHECK(major <= INODE_MAX_MAJOR && minor <= INODE_MAX_MINOR);
	(void)!inode_checksum_fits(format, 12, bytes);
}

static void read_inode(const uint8_t *block)
{
	const struct ondisk_format format = { .block_bytes = BLOCK_BYTES, .block_bits = 10, .inode_bytes = 256 };
	struct xattr_cursor cursor;
	struct inode_view inode;
	SCOPE_FREE uint8_t *exact = malloc(format.inode_bytes);
	size_t count;

	FUZZ_CHECK(exact);
	memcpy(exact, block, format.inode_bytes);
	inode_view_read(&format, exact, &inode);
	check_decoded(&format, exact);
	read_xattrs(xattr_start_inode(&format, exact), exact, format.inode_bytes);
	if (!xattr_start_block(&format, 5, block, &cursor))
		read_xattrs(cursor, block, BLOCK_BYTES);
	const uint8_t *rest = inode_view_inline_rest(&format, exact, &count);

	FUZZ_CHECK(!rest || (rest >= exact && rest + count <= exact + format.inode_bytes));
	if (rest)
		read_directory(rest, count);
}

/* --- what is changed ------------------------------------------------------------------------------------------------
 */

#define MOST_BLOCKS 64

/* Blocks in memory; those that the input does not have are zeros. */
static struct memory {
	struct quota_blocks quota;
	struct block_access access;
	uint8_t bytes[MOST_BLOCKS][BLOCK_BYTES];
} memory;

static errcode_t read_quota(struct quota_blocks *blocks, uint32_t number, void *bytes)
{
	FUZZ_CHECK(number < blocks->count);
	memcpy(bytes, memory.bytes[number], BLOCK_BYTES);
	return 0;
}

static errcode_t write_quota(struct quota_blocks *blocks, uint32_t number, const void *bytes)
{
	FUZZ_CHECK(number < blocks->count);
	memcpy(memory.bytes[number], bytes, BLOCK_BYTES);
	return 0;
}

static errcode_t append_quota(struct quota_blocks *blocks)
{
	if (blocks->count == MOST_BLOCKS)
		return ENOSPC;
	memset(memory.bytes[blocks->count++], 0, BLOCK_BYTES);
	return 0;
}

/* An owner's usage changes by what it was told to, unless the file is damaged. */
static void change_quota(uint32_t id, int64_t inodes)
{
	struct quota_entry before, after;
	struct quota_tree tree;

	if (quota_tree_open(&tree, QUOTA_OF_USERS, &memory.quota) || quota_tree_find(&tree, id, &before))
		return;
	if (quota_tree_change(&tree, id, inodes, 4 * inodes) || quota_tree_close(&tree))
		return;
	if (quota_tree_open(&tree, QUOTA_OF_USERS, &memory.quota) || quota_tree_find(&tree, id, &after))
		return;
	FUZZ_CHECK(inodes > 0 ? after.inodes >= before.inodes : after.inodes <= before.inodes);
}

static void copy_blocks(const uint8_t *bytes, size_t count)
{
	memset(memory.bytes, 0, sizeof(memory.bytes));
	memcpy(memory.bytes, bytes, count < sizeof(memory.bytes) ? count : sizeof(memory.bytes));
}

static void change_quotas(const uint8_t *bytes, size_t count)
{
	static const uint32_t ids[] = { 0, 7, 8, 0x01020304, UINT32_MAX };

	copy_blocks(bytes, count);
	memory.quota = (struct quota_blocks){ (uint32_t)(count / BLOCK_BYTES), read_quota, write_quota, append_quota };
	if (memory.quota.count > MOST_BLOCKS / 2)
		memory.quota.count = MOST_BLOCKS / 2;
	for (size_t n = 0; n < sizeof(ids) / sizeof(*ids); n++)
		change_quota(ids[n], 5);
	for (size_t n = 0; n < sizeof(ids) / sizeof(*ids); n++)
		change_quota(ids[n], INT64_MIN / 4);
}

static errcode_t read_map(struct block_access *access, uint64_t block, void *bytes)
{
	FUZZ_CHECK(block > 0 && block < access->end_block);
	memcpy(bytes, memory.bytes[block], BLOCK_BYTES);
	return 0;
}

static errcode_t write_map(struct block_access *access, uint64_t block, const void *bytes)
{
	FUZZ_CHECK(block > 0 && block < access->end_block);
	memcpy(memory.bytes[block], bytes, BLOCK_BYTES);
	return 0;
}

static bool is_first(struct block_access *access, uint64_t block, uint64_t count)
{
	(void)access, (void)count;
	return block == 0;
}

/* Block 0 begins with i_block. What can be collected can be cut off, and then the rest can be collected. */
static void cut_map(const uint8_t *bytes, size_t count, bool has_extents, uint64_t first)
{
	static const struct ondisk_format format = { .block_bytes = BLOCK_BYTES, .block_bits = 10 };
	struct inode_decoded inode = { .value = { .mode = 0100644, .blocks = 99 } };
	struct block_list all = { 0 }, freed = { 0 }, rest = { 0 };

	copy_blocks(bytes, count);
	memory.access = (struct block_access){
		.format = &format,
		.end_block = MOST_BLOCKS,
		.read = read_map,
		.write = write_map,
		.is_metadata = is_first,
	};
	memcpy(inode.value.root, memory.bytes[0], INODE_ROOT_BYTES);
	inode.value.flags = has_extents ? EXT4_EXTENTS_FL : 0;
	if (!map_collect(&memory.access, 12, &inode, &all)) {
		FUZZ_CHECK(!map_cut(&memory.access, 12, &inode, first, &freed));
		FUZZ_CHECK(!map_collect(&memory.access, 12, &inode, &rest));
		FUZZ_CHECK(freed.blocks + rest.blocks == all.blocks);
	}
	block_list_free(&all);
	block_list_free(&freed);
	block_list_free(&rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static const struct ondisk_format checked = { .block_bytes = BLOCK_BYTES, .block_bits = 10, .checksums = true };

	if (!count)
		return 0;
	if (bytes[0] >= 248) {
		change_quotas(bytes + 1, count - 1);
		return 0;
	}
	if (bytes[0] >= 240) {
		cut_map(bytes + 1, count - 1, bytes[0] & 1, bytes[0] & 6 ? (bytes[0] & 6) * 3 : 0);
		return 0;
	}
	size_t block_bytes = count - 1 < BLOCK_BYTES ? count - 1 : BLOCK_BYTES;
	SCOPE_FREE uint8_t *whole = calloc(1, BLOCK_BYTES);
	SCOPE_FREE uint8_t *exact = malloc(block_bytes ? block_bytes : 1);

	FUZZ_CHECK(whole && exact);
	memcpy(whole, bytes + 1, block_bytes);
	memcpy(exact, bytes + 1, block_bytes);
	switch (bytes[0] % 6) {
	case 0:
		read_journal(whole);
		break;
	case 1:
	case 2:
		read_orphans(whole, bytes[0] & 1);
		break;
	case 3:
		read_extents(exact, block_bytes);
		(void)!extent_node_checksum_fits(&checked, 7, whole);
		break;
	case 4:
		read_directory(exact, block_bytes);
		(void)!directory_block_checksum_fits(&checked, 7, whole);
		break;
	case 5:
		read_inode(whole);
		break;
	}
	return 0;
}
