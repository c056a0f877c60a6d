/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Single blocks of the disk: a journal's superblock, a block of the orphan file, a node of an extent tree, a
 * block of a directory, an inode with its xattrs, which may go on as a block of them. The first byte says which; the
 * bytes are copied to where nothing follows them.
 */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ondisk/journal_block.h"
#include "ondisk/inode.h"
#include "ondisk/orphan_block.h"
#include "ondisk/posix_acl.h"
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
	inode_view_read(exact, &inode);
	check_decoded(&format, exact);
	read_xattrs(xattr_start_inode(&format, exact), exact, format.inode_bytes);
	if (!xattr_start_block(&format, 5, block, &cursor))
		read_xattrs(cursor, block, BLOCK_BYTES);
	const uint8_t *rest = inode_view_inline_rest(&format, exact, &count);

	FUZZ_CHECK(!rest || (rest >= exact && rest + count <= exact + format.inode_bytes));
	if (rest)
		read_directory(rest, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static const struct ondisk_format checked = { .block_bytes = BLOCK_BYTES, .block_bits = 10, .checksums = true };

	if (!count)
		return 0;
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
