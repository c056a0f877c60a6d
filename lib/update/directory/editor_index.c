/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/directory/editor_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2_err.h>

#include "update/directory/editor_split.h"

#define MOST_DEPTHS 3u /* index blocks above a leaf: the root and two levels of nodes */
#define CONTINUED 1u   /* bit 0 of an index's hash: the previous child ends with the same hash */

/* Adding a name appends at most a leaf and one node for each level. */
#define MOST_NEW_BLOCKS (1u + MOST_DEPTHS)

/*
 * A path from the root to a leaf: the numbers of the index blocks, and in each the position of the child that the path
 * takes.
 */
struct index_path {
	uint32_t depths;
	struct {
		uint32_t logical, at;
	} frames[MOST_DEPTHS];
	uint32_t leaf;
};

/* Gets the index block at a depth; the root's depth is 0. */
static errcode_t get_frame(struct editor_blocks *blocks, const struct index_path *path, uint32_t depth,
                           struct editor_block **block, struct index_block *index)
{
	errcode_t error = editor_blocks_get(blocks, path->frames[depth].logical,
	                                    depth ? path->depths - depth : BLOCK_ROOT, block);

	if (!error)
		*index = editor_block_index(blocks, *block);
	return error;
}

/* Follows the first children, from `depth` on. */
static errcode_t descend(struct editor_blocks *blocks, struct index_path *path, uint32_t depth, const uint32_t *hash)
{
	struct editor_block *block;
	struct index_block index;

	for (; depth < path->depths; depth++) {
		errcode_t error = get_frame(blocks, path, depth, &block, &index);

		if (error)
			return error;
		path->frames[depth].at = hash ? index_block_search(&index, *hash) : 0;
		uint32_t child = index_block_child(&index, path->frames[depth].at);

		if (depth + 1 < path->depths)
			path->frames[depth + 1].logical = child;
		else
			path->leaf = child;
	}
	return 0;
}

/* Finds the path to the first leaf that may have this hash. */
static errcode_t probe(struct editor_blocks *blocks, uint32_t hash, struct index_path *path)
{
	struct editor_block *root;
	struct index_block index;
	struct index_info info;
	errcode_t error = editor_blocks_get(blocks, 0, BLOCK_ROOT, &root);

	if (!error)
		error = index_root_read(blocks->format, blocks->ino, root->bytes, &index, &info);
	if (error)
		return error;
	*path = (struct index_path){ .depths = info.levels + 1 };
	return descend(blocks, path, 0, &hash);
}

/* Goes on to the next leaf if it begins with this hash. ENOENT. */
static errcode_t next_leaf(struct editor_blocks *blocks, uint32_t hash, struct index_path *path)
{
	struct editor_block *block;
	struct index_block index;
	uint32_t depth = path->depths;

	do {
		if (!depth)
			return ENOENT;
		errcode_t error = get_frame(blocks, path, --depth, &block, &index);

		if (error)
			return error;
	} while (path->frames[depth].at + 1 >= index.count);

	uint32_t at = ++path->frames[depth].at;

	if ((index_block_hash(&index, at) & ~CONTINUED) != hash)
		return ENOENT;
	if (depth + 1 == path->depths) {
		path->leaf = index_block_child(&index, at);
		return 0;
	}
	path->frames[depth + 1].logical = index_block_child(&index, at);
	return descend(blocks, path, depth + 1, NULL);
}

errcode_t editor_index_find(struct editor_blocks *blocks, const struct editor_names *names,
                            const struct editor_name *name, struct editor_place *place)
{
	struct index_path path;
	errcode_t error = probe(blocks, name->hash, &path);

	/* A damaged index may lead to one leaf again and again. */
	for (uint32_t leaves = 0; !error && leaves < blocks->count; leaves++) {
		editor_blocks_trim(blocks);
		error = editor_blocks_get(blocks, path.leaf, BLOCK_LEAF, &place->block);
		if (error)
			return error;
		place->entries = editor_block_entries(blocks, place->block);
		if (entry_block_find(&names->format, place->entries, name->name, names->is_casefolded, &place->record))
			return 0;
		error = next_leaf(blocks, name->hash, &path);
	}
	return error ? error : EXT2_ET_DIR_CORRUPTED;
}

/*
 * Returns the depth from which all index blocks down to the leaf are full; path->depths if the lowest one is not full.
 */
static errcode_t first_full(struct editor_blocks *blocks, const struct index_path *path, uint32_t *ret)
{
	struct editor_block *block;
	struct index_block index;

	for (*ret = path->depths; *ret; --*ret) {
		errcode_t error = get_frame(blocks, path, *ret - 1, &block, &index);

		if (error)
			return error;
		if (index.count < index.limit)
			return 0;
	}
	return 0;
}

/* Inserts a level between the root and its children. */
static errcode_t deepen(struct editor_blocks *blocks, struct editor_block *root, uint32_t depths)
{
	struct index_block index = editor_block_index(blocks, root);
	struct editor_block *node;
	errcode_t error = editor_blocks_append(blocks, depths, &node);

	if (error)
		return error;
	index_root_deepen(blocks->format, &index, node->bytes, node->logical);
	editor_blocks_change(blocks, root);
	return 0;
}

/* Splits a node; its parent has room. */
static errcode_t split_node(struct editor_blocks *blocks, const struct index_path *path, uint32_t depth)
{
	struct editor_block *block, *parent_block, *upper;
	struct index_block index, parent;
	errcode_t error = get_frame(blocks, path, depth, &block, &index);

	if (!error)
		error = get_frame(blocks, path, depth - 1, &parent_block, &parent);
	if (!error)
		error = editor_blocks_append(blocks, block->kind, &upper);
	if (error)
		return error;
	uint32_t hash = index_block_split(blocks->format, &index, upper->bytes);

	index_block_insert(&parent, path->frames[depth - 1].at + 1, hash, upper->logical);
	editor_blocks_change(blocks, block);
	editor_blocks_change(blocks, parent_block);
	return 0;
}

/* Makes room for another leaf in the lowest index block on the path to this hash. */
static errcode_t make_room(struct editor_blocks *blocks, uint32_t hash, struct index_path *path)
{
	const uint32_t most_blocks = directory_most_blocks(blocks->format);
	uint32_t depth;
	errcode_t error = first_full(blocks, path, &depth);

	if (error)
		return error;
	if ((!depth && path->depths > index_most_levels(blocks->format)) || blocks->count > EXT4_DX_BLOCK_MASK ||
	    EXT4_DX_BLOCK_MASK - blocks->count < MOST_NEW_BLOCKS || blocks->count > most_blocks ||
	    most_blocks - blocks->count < MOST_NEW_BLOCKS)
		return EFBIG;
	/*
	 * Splits go from the top down, since a node can be split once its parent has room. Only damage takes more steps
	 * than there are depths.
	 */
	for (uint32_t steps = 0; depth < path->depths; steps++) {
		struct editor_block *root;

		if (steps > MOST_DEPTHS)
			return EXT2_ET_DIR_CORRUPTED;
		if (depth) {
			error = split_node(blocks, path, depth);
		} else {
			error = editor_blocks_get(blocks, 0, BLOCK_ROOT, &root);
			if (!error)
				error = deepen(blocks, root, path->depths);
		}
		if (!error)
			error = probe(blocks, hash, path);
		if (!error)
			error = first_full(blocks, path, &depth);
		if (error)
			return error;
	}
	return 0;
}

/* Splits a full leaf. *leaf becomes the half that the name belongs to. */
static errcode_t split_leaf(struct editor_blocks *blocks, struct index_path *path, const struct hashed_entries *hashed,
                            uint32_t hash, struct editor_block **leaf)
{
	struct editor_block *parent_block, *upper;
	struct index_block parent;
	errcode_t error = make_room(blocks, hash, path);

	if (!error && path->leaf != (*leaf)->logical)
		error = EXT2_ET_DIR_CORRUPTED;
	if (!error)
		error = get_frame(blocks, path, path->depths - 1, &parent_block, &parent);
	if (!error)
		error = editor_blocks_append(blocks, BLOCK_LEAF, &upper);
	if (error)
		return error;
	uint32_t half = hashed_entries_half(hashed, blocks->format->block_bytes);
	uint32_t first = hashed->entries[half].hash;
	bool is_continued = hashed->entries[half - 1].hash == first;

	hashed_entries_pack(hashed, blocks->format, half, hashed->count, editor_block_entries(blocks, upper));
	hashed_entries_pack(hashed, blocks->format, 0, half, editor_block_entries(blocks, *leaf));
	index_block_insert(&parent, path->frames[path->depths - 1].at + 1, first | (is_continued ? CONTINUED : 0),
	                   upper->logical);
	editor_blocks_change(blocks, parent_block);
	editor_blocks_change(blocks, *leaf);
	if (hash >= first)
		*leaf = upper;
	return 0;
}

/* No gap of the leaf is large enough. All its gaps together may be; if they are not, the leaf is split. */
static errcode_t add_to_full_leaf(struct editor_blocks *blocks, const struct editor_names *names,
                                  const struct editor_name *name, struct directory_target target,
                                  struct index_path *path, struct editor_block *leaf)
{
	SCOPE_HASHED_ENTRIES struct hashed_entries hashed;
	struct entry_block entries = editor_block_entries(blocks, leaf);
	errcode_t error = hashed_entries_read(names, entries, &hashed);

	if (error)
		return error;
	if (hashed.used_bytes + directory_entry_bytes(name->name.length_bytes) <= entries.byte_count)
		hashed_entries_pack(&hashed, blocks->format, 0, hashed.count, entries);
	else
		error = split_leaf(blocks, path, &hashed, name->hash, &leaf);
	if (error)
		return error;
	editor_blocks_change(blocks, leaf);
	/* Each half of a full block has room for the longest name. */
	return entry_block_add(blocks->format, editor_block_entries(blocks, leaf), name->name, target) ?
	               0 :
	               EXT2_ET_DIR_CORRUPTED;
}

errcode_t editor_index_add(struct editor_blocks *blocks, const struct editor_names *names,
                           const struct editor_name *name, struct directory_target target)
{
	struct index_path path;
	struct editor_block *leaf;
	errcode_t error = probe(blocks, name->hash, &path);

	if (!error)
		error = editor_blocks_get(blocks, path.leaf, BLOCK_LEAF, &leaf);
	if (error)
		return error;
	if (entry_block_add(blocks->format, editor_block_entries(blocks, leaf), name->name, target)) {
		editor_blocks_change(blocks, leaf);
		return 0;
	}
	return add_to_full_leaf(blocks, names, name, target, &path, leaf);
}

errcode_t editor_index_begin(struct editor_blocks *blocks)
{
	struct editor_block *root, *leaf;
	struct directory_record record;
	errcode_t error = editor_blocks_get(blocks, 0, BLOCK_LEAF, &root);

	if (error)
		return error;
	struct entry_block entries = editor_block_entries(blocks, root);

	if (!entry_block_dots(entries, blocks->ino, &record))
		return EXT2_ET_DIR_CORRUPTED;
	uint32_t parent_ino = record.entry.ino;

	error = editor_blocks_append(blocks, BLOCK_LEAF, &leaf);
	if (error)
		return error;
	struct entry_packer packer = entry_packer_begin(blocks->format, editor_block_entries(blocks, leaf));

	while (entry_block_next(entries, &record))
		if (record.entry.ino && !entry_packer_put(blocks->format, &packer, directory_record_name(&record),
		                                          directory_record_target(&record)))
			return EXT2_ET_DIR_CORRUPTED;
	directory_index_begin(blocks->format, blocks->ino, parent_ino, root->bytes);
	root->kind = BLOCK_ROOT;
	editor_blocks_change(blocks, root);
	return 0;
}
