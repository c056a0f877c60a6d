/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/quota_tree.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ondisk/quota_parts.h"

/* The blocks that lead to an owner's entry: one of each level, and the one of entries. */
#define PATH_BLOCKS (QUOTA_TREE_LEVELS + 1)

struct path {
	uint32_t blocks[PATH_BLOCKS]; /* 0: there is none, nor any after it */
	unsigned int slot;            /* of the entry, if it was found */
	struct quota_raw_entry entry;
};

/* 0, or a block that is neither the header nor the root. */
static bool is_possible(const struct quota_tree *tree, uint32_t number)
{
	return !number || (number > QUOTA_ROOT_BLOCK && number < tree->count);
}

errcode_t quota_tree_open(struct quota_tree *tree, enum quota_type type, struct quota_blocks *blocks)
{
	uint8_t bytes[QUOTA_BLOCK_BYTES];
	struct quota_raw_header header;

	if (blocks->count <= QUOTA_ROOT_BLOCK)
		return EUCLEAN;
	errcode_t error = blocks->read(blocks, 0, bytes);

	if (error)
		return error;
	memcpy(&header, bytes, sizeof(header));
	*tree = (struct quota_tree){
		.blocks = blocks,
		.count = le32toh(header.blocks),
		.free_block = le32toh(header.free_block),
		.entry_block = le32toh(header.entry_block),
	};
	if (le32toh(header.magic) != quota_magic_numbers[type] || le32toh(header.version) != QUOTA_VERSION ||
	    tree->count <= QUOTA_ROOT_BLOCK || tree->count > blocks->count || !is_possible(tree, tree->free_block) ||
	    !is_possible(tree, tree->entry_block))
		return EUCLEAN;
	return 0;
}

errcode_t quota_tree_close(struct quota_tree *tree)
{
	struct quota_blocks *blocks = tree->blocks;
	uint8_t bytes[QUOTA_BLOCK_BYTES];
	struct quota_raw_header header;

	if (!tree->is_changed)
		return 0;
	errcode_t error = blocks->read(blocks, 0, bytes);

	if (error)
		return error;
	memcpy(&header, bytes, sizeof(header));
	header.blocks = htole32(tree->count);
	header.free_block = htole32(tree->free_block);
	header.entry_block = htole32(tree->entry_block);
	memcpy(bytes, &header, sizeof(header));
	tree->is_changed = false;
	return blocks->write(blocks, 0, bytes);
}

/* --- blocks ----------------------------------------------------------------------------------------------------- */

static bool is_zero(const void *bytes, size_t count)
{
	const uint8_t *at = bytes;

	return !*at && !memcmp(at, at + 1, count - 1);
}

static struct quota_raw_block head_of(const uint8_t *bytes)
{
	struct quota_raw_block head;

	memcpy(&head, bytes, sizeof(head));
	return head;
}

static void set_head(uint8_t *bytes, const struct quota_raw_block *head)
{
	memcpy(bytes, head, sizeof(*head));
}

/* Reads a block of entries or a free one. */
static errcode_t read_linked(struct quota_tree *tree, uint32_t number, uint8_t *bytes)
{
	errcode_t error = tree->blocks->read(tree->blocks, number, bytes);

	if (error)
		return error;
	const struct quota_raw_block head = head_of(bytes);
	uint32_t next = le32toh(head.next), previous = le32toh(head.previous);

	return is_possible(tree, next) && is_possible(tree, previous) && next != number && previous != number &&
	                       (!next || next != previous) && le16toh(head.entries) <= QUOTA_ENTRIES_PER_BLOCK ?
	               0 :
	               EUCLEAN;
}

/* Takes a free block, whose contents the caller writes. */
static errcode_t take_block(struct quota_tree *tree, uint32_t *number)
{
	struct quota_blocks *blocks = tree->blocks;
	uint8_t bytes[QUOTA_BLOCK_BYTES];

	tree->is_changed = true;
	if (tree->free_block) {
		errcode_t error = read_linked(tree, tree->free_block, bytes);

		*number = tree->free_block;
		if (!error)
			tree->free_block = le32toh(head_of(bytes).next);
		return error;
	}
	if (tree->count == UINT32_MAX)
		return ENOSPC;
	while (tree->count >= blocks->count) {
		uint32_t before = blocks->count;
		errcode_t error = blocks->append ? blocks->append(blocks) : ENOSPC;

		if (error || blocks->count <= before)
			return error ? error : ENOSPC;
	}
	*number = tree->count++;
	return 0;
}

static errcode_t put_block(struct quota_tree *tree, uint32_t number)
{
	uint8_t bytes[QUOTA_BLOCK_BYTES] = { 0 };
	const struct quota_raw_block head = { .next = htole32(tree->free_block) };

	set_head(bytes, &head);
	tree->free_block = number;
	tree->is_changed = true;
	return tree->blocks->write(tree->blocks, number, bytes);
}

/* Changes one link of a block in the list of those with room. */
static errcode_t set_link(struct quota_tree *tree, uint32_t number, bool is_next, uint32_t to)
{
	uint8_t bytes[QUOTA_BLOCK_BYTES];
	errcode_t error = read_linked(tree, number, bytes);

	if (error)
		return error;
	struct quota_raw_block head = head_of(bytes);

	*(is_next ? &head.next : &head.previous) = htole32(to);
	set_head(bytes, &head);
	return tree->blocks->write(tree->blocks, number, bytes);
}

/* Takes a block out of the list of those with room; its bytes are the caller's, who writes them. */
static errcode_t leave_list(struct quota_tree *tree, uint8_t *bytes)
{
	struct quota_raw_block head = head_of(bytes);
	uint32_t next = le32toh(head.next), previous = le32toh(head.previous);
	errcode_t error = next ? set_link(tree, next, false, previous) : 0;

	if (!error && previous)
		error = set_link(tree, previous, true, next);
	else if (!error)
		tree->entry_block = next;
	head.next = head.previous = 0;
	set_head(bytes, &head);
	tree->is_changed = true;
	return error;
}

static errcode_t enter_list(struct quota_tree *tree, uint32_t number, uint8_t *bytes)
{
	struct quota_raw_block head = head_of(bytes);
	errcode_t error = tree->entry_block ? set_link(tree, tree->entry_block, false, number) : 0;

	head.next = htole32(tree->entry_block);
	head.previous = 0;
	set_head(bytes, &head);
	tree->entry_block = number;
	tree->is_changed = true;
	return error;
}

static uint8_t *slot_in(uint8_t *bytes, unsigned int slot)
{
	return bytes + sizeof(struct quota_raw_block) + slot * sizeof(struct quota_raw_entry);
}

/* --- finding ---------------------------------------------------------------------------------------------------- */

static errcode_t find_in_block(struct quota_tree *tree, uint32_t id, struct path *path)
{
	uint8_t bytes[QUOTA_BLOCK_BYTES];
	errcode_t error = read_linked(tree, path->blocks[QUOTA_TREE_LEVELS], bytes);

	if (error)
		return error;
	for (path->slot = 0; path->slot < QUOTA_ENTRIES_PER_BLOCK; path->slot++) {
		memcpy(&path->entry, slot_in(bytes, path->slot), sizeof(path->entry));
		if (le32toh(path->entry.id) == id && !is_zero(&path->entry, sizeof(path->entry)))
			return 0;
	}
	/* The tree leads to where there is none. */
	return EUCLEAN;
}

/* A block that comes twice on one way would be taken for two of them. */
static bool is_on_path(const struct path *path, uint32_t number)
{
	for (unsigned int level = 0; level < PATH_BLOCKS && path->blocks[level]; level++)
		if (path->blocks[level] == number)
			return true;
	return false;
}

static errcode_t find(struct quota_tree *tree, uint32_t id, struct path *path)
{
	uint8_t bytes[QUOTA_BLOCK_BYTES];

	*path = (struct path){ .blocks = { QUOTA_ROOT_BLOCK } };
	for (unsigned int level = 0; level < QUOTA_TREE_LEVELS; level++) {
		errcode_t error = tree->blocks->read(tree->blocks, path->blocks[level], bytes);
		uint32_t reference;

		if (error)
			return error;
		memcpy(&reference, bytes + quota_reference_offset(id, level), sizeof(reference));
		reference = le32toh(reference);
		if (!is_possible(tree, reference))
			return EUCLEAN;
		if (reference && is_on_path(path, reference))
			return EUCLEAN;
		path->blocks[level + 1] = reference;
		if (!reference)
			return 0;
	}
	return find_in_block(tree, id, path);
}

errcode_t quota_tree_find(struct quota_tree *tree, uint32_t id, struct quota_entry *entry)
{
	struct path path;
	errcode_t error = find(tree, id, &path);

	*entry = (struct quota_entry){
		.id = id,
		.inodes = error ? 0 : le64toh(path.entry.inodes),
		.space_bytes = error ? 0 : le64toh(path.entry.space_bytes),
	};
	return error;
}

/* --- changing --------------------------------------------------------------------------------------------------- */

static errcode_t set_reference(struct quota_tree *tree, uint32_t number, bool is_new, uint32_t id, unsigned int level,
                               uint32_t reference)
{
	struct quota_blocks *blocks = tree->blocks;
	uint8_t bytes[QUOTA_BLOCK_BYTES] = { 0 };
	const uint32_t reference_le = htole32(reference);
	errcode_t error = is_new ? 0 : blocks->read(blocks, number, bytes);

	if (error)
		return error;
	memcpy(bytes + quota_reference_offset(id, level), &reference_le, sizeof(reference_le));
	return blocks->write(blocks, number, bytes);
}

/* Takes a block for the way to a new entry. */
static errcode_t extend_path(struct quota_tree *tree, struct path *path, unsigned int level)
{
	uint32_t number;
	errcode_t error = take_block(tree, &number);

	if (error)
		return error;
	if (is_on_path(path, number))
		return EUCLEAN;
	path->blocks[level] = number;
	return 0;
}

/* Puts an entry into the first block with room, or a new one. */
static errcode_t place_entry(struct quota_tree *tree, struct path *path, const struct quota_raw_entry *entry)
{
	uint32_t *number = &path->blocks[QUOTA_TREE_LEVELS];
	uint8_t bytes[QUOTA_BLOCK_BYTES] = { 0 };
	errcode_t error = 0;

	if (tree->entry_block && is_on_path(path, tree->entry_block))
		return EUCLEAN;
	*number = tree->entry_block;
	if (*number) {
		error = read_linked(tree, *number, bytes);
	} else {
		error = extend_path(tree, path, QUOTA_TREE_LEVELS);
		tree->entry_block = *number;
	}
	if (error)
		return error;
	struct quota_raw_block head = head_of(bytes);
	unsigned int entries = le16toh(head.entries), slot = 0;

	while (slot < QUOTA_ENTRIES_PER_BLOCK && !is_zero(slot_in(bytes, slot), sizeof(*entry)))
		slot++;
	if (slot == QUOTA_ENTRIES_PER_BLOCK || entries >= QUOTA_ENTRIES_PER_BLOCK)
		return EUCLEAN;
	head.entries = htole16((uint16_t)(entries + 1));
	set_head(bytes, &head);
	if (entries + 1 == QUOTA_ENTRIES_PER_BLOCK)
		error = leave_list(tree, bytes);
	memcpy(slot_in(bytes, slot), entry, sizeof(*entry));
	return error ? error : tree->blocks->write(tree->blocks, *number, bytes);
}

/* New blocks are taken from the root down, as the kernel does. */
static errcode_t insert(struct quota_tree *tree, struct path *path, const struct quota_raw_entry *entry)
{
	unsigned int first_new = 1;
	errcode_t error = 0;

	while (path->blocks[first_new])
		first_new++;
	for (unsigned int level = first_new; !error && level < QUOTA_TREE_LEVELS; level++)
		error = extend_path(tree, path, level);
	if (!error)
		error = place_entry(tree, path, entry);
	for (unsigned int level = QUOTA_TREE_LEVELS; !error && level-- >= first_new;)
		error = set_reference(tree, path->blocks[level], level >= first_new, le32toh(entry->id), level,
		                      path->blocks[level + 1]);
	return error;
}

/* Empties the entry's slot; its block goes free with the last one. */
static errcode_t remove_entry(struct quota_tree *tree, const struct path *path)
{
	const uint32_t number = path->blocks[QUOTA_TREE_LEVELS];
	uint8_t bytes[QUOTA_BLOCK_BYTES];
	errcode_t error = read_linked(tree, number, bytes);

	if (error)
		return error;
	struct quota_raw_block head = head_of(bytes);
	unsigned int entries = le16toh(head.entries);

	if (!entries)
		return EUCLEAN;
	if (entries == 1) {
		error = leave_list(tree, bytes);
		return error ? error : put_block(tree, number);
	}
	head.entries = htole16((uint16_t)(entries - 1));
	set_head(bytes, &head);
	memset(slot_in(bytes, path->slot), 0, sizeof(struct quota_raw_entry));
	if (entries == QUOTA_ENTRIES_PER_BLOCK)
		error = enter_list(tree, number, bytes);
	return error ? error : tree->blocks->write(tree->blocks, number, bytes);
}

/* Blocks of the tree that become empty go free; the root stays. */
static errcode_t remove_from_tree(struct quota_tree *tree, const struct path *path, uint32_t id)
{
	struct quota_blocks *blocks = tree->blocks;
	errcode_t error = remove_entry(tree, path);

	for (unsigned int level = QUOTA_TREE_LEVELS; !error && level-- > 0;) {
		uint8_t bytes[QUOTA_BLOCK_BYTES];

		error = blocks->read(blocks, path->blocks[level], bytes);
		if (error)
			return error;
		memset(bytes + quota_reference_offset(id, level), 0, sizeof(uint32_t));
		if (!level || !is_zero(bytes, sizeof(bytes)))
			return blocks->write(blocks, path->blocks[level], bytes);
		error = put_block(tree, path->blocks[level]);
	}
	return error;
}

static errcode_t rewrite_entry(struct quota_tree *tree, const struct path *path, const struct quota_raw_entry *entry)
{
	const uint32_t number = path->blocks[QUOTA_TREE_LEVELS];
	uint8_t bytes[QUOTA_BLOCK_BYTES];
	errcode_t error = read_linked(tree, number, bytes);

	if (error)
		return error;
	memcpy(slot_in(bytes, path->slot), entry, sizeof(*entry));
	return tree->blocks->write(tree->blocks, number, bytes);
}

static uint64_t sum(uint64_t usage, int64_t difference)
{
	uint64_t less = -(uint64_t)difference;

	if (difference < 0)
		return usage > less ? usage - less : 0;
	return usage > UINT64_MAX - (uint64_t)difference ? UINT64_MAX : usage + (uint64_t)difference;
}

errcode_t quota_tree_change(struct quota_tree *tree, uint32_t id, int64_t inodes, int64_t space_bytes)
{
	struct path path;
	errcode_t error = find(tree, id, &path);

	if (error)
		return error;
	bool is_there = path.blocks[QUOTA_TREE_LEVELS];
	struct quota_raw_entry entry = path.entry;
	uint64_t inodes_now = sum(le64toh(entry.inodes), inodes);
	uint64_t bytes_now = sum(le64toh(entry.space_bytes), space_bytes);
	bool has_limit = entry.inode_hard || entry.inode_soft || entry.space_hard || entry.space_soft;

	entry.id = htole32(id);
	entry.inodes = htole64(inodes_now);
	entry.space_bytes = htole64(bytes_now);
	if (is_there && !inodes_now && !bytes_now && !has_limit)
		return remove_from_tree(tree, &path, id);
	if (is_there)
		return rewrite_entry(tree, &path, &entry);
	return inodes_now || bytes_now ? insert(tree, &path, &entry) : 0;
}
