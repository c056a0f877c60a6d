/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/directory/directory_editor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "update/directory/editor_index.h"
#include "update/directory/editor_inline.h"
#include "update/directory/editor_map.h"

enum form {
	FORM_INLINE,
	FORM_LINEAR,
	FORM_INDEXED,
};

struct directory_editor {
	struct editor_blocks blocks;
	struct editor_names names;
	struct editor_inline data; /* of FORM_INLINE */
	struct editor_allocation allocation;
	enum form form;
	uint32_t flags, first_flags;
	uint32_t first_count; /* the number of blocks when it was opened */
	errcode_t broken;     /* the state in memory may be incomplete */
};

static bool is_valid_name(struct directory_name name)
{
	if (!name.length_bytes || memchr(name.name, '/', name.length_bytes) ||
	    memchr(name.name, '\0', name.length_bytes))
		return false;
	return name.name[0] != '.' || name.length_bytes > 2 || (name.length_bytes == 2 && name.name[1] != '.');
}

/* Opens the directory's blocks, and finds out its form. */
static errcode_t open_blocks(struct directory_editor *editor, const struct directory_editor_options *options)
{
	const struct ondisk_format *format = options->format;
	const uint64_t count = options->size_bytes >> format->block_bits;
	struct editor_block *root;
	struct index_block index;
	struct index_info info;

	if (!count || count > directory_most_blocks(format) || options->size_bytes % format->block_bytes)
		return EXT2_ET_DIR_CORRUPTED;
	errcode_t error = editor_blocks_open(&editor->blocks, options->extents, options->extent_count, (uint32_t)count);

	if (error)
		return error;
	editor->form = FORM_LINEAR;
	if (!(options->flags & EXT2_INDEX_FL))
		return 0;
	/* Without dir_index an index looks like blocks of unused entries; but those have no checksums. */
	if (!format->dir_index)
		return format->checksums ? EXT2_ET_DIR_CORRUPTED : 0;
	editor->form = FORM_INDEXED;
	error = editor_blocks_get(&editor->blocks, 0, BLOCK_ROOT, &root);
	if (!error)
		error = index_root_read(format, options->ino, root->bytes, &index, &info);
	if (!error)
		editor->names.format.hash_version = info.hash_version;
	return error;
}

static errcode_t open_inline(struct directory_editor *editor, const struct directory_editor_options *options)
{
	editor->form = FORM_INLINE;
	errcode_t error = editor_inline_open(&editor->data, options->inline_data, options->inline_bytes,
	                                     options->inline_room_bytes, options->inode_count);

	return error ? error : editor_blocks_open(&editor->blocks, NULL, 0, 0);
}

static void cleanup_editor(struct directory_editor **editor)
{
	directory_editor_close(*editor);
}

errcode_t directory_editor_open(const struct directory_editor_options *options, struct directory_editor **ret)
{
	__attribute__((cleanup(cleanup_editor))) struct directory_editor *editor = calloc(1, sizeof(*editor));

	*ret = NULL;
	if (!editor)
		return ENOMEM;
	if (options->flags & EXT4_ENCRYPT_FL)
		return EOPNOTSUPP;
	if (options->flags & EXT4_CASEFOLD_FL && !options->format->encoding)
		return EXT2_ET_DIR_CORRUPTED;
	editor->names = (struct editor_names){ *options->format, options->flags & EXT4_CASEFOLD_FL };
	editor->flags = editor->first_flags = options->flags;
	editor->blocks = (struct editor_blocks){
		.sink = options->sink,
		.format = options->format,
		.ino = options->ino,
		.inode_seed = ondisk_inode_seed(options->format, options->ino, options->generation),
		.inode_count = options->inode_count,
	};
	editor->allocation = (struct editor_allocation){ options->allocate, options->context, options->goal };
	errcode_t error =
		options->flags & EXT4_INLINE_DATA_FL ? open_inline(editor, options) : open_blocks(editor, options);

	if (error)
		return error;
	editor->first_count = editor->blocks.count;
	*ret = TAKE(editor);
	return 0;
}

void directory_editor_close(struct directory_editor *editor)
{
	if (!editor)
		return;
	editor_blocks_close(&editor->blocks);
	editor_inline_close(&editor->data);
	free(editor);
}

/* Notes an error. Errors after which nothing has changed leave the editor usable. */
static errcode_t note(struct directory_editor *editor, errcode_t error)
{
	if (error && error != ENOENT && error != EEXIST && error != EINVAL && error != EILSEQ && error != EFBIG)
		editor->broken = error;
	return error;
}

static errcode_t find_inline(struct directory_editor *editor, struct directory_name name, struct editor_place *place)
{
	place->block = NULL;
	for (unsigned int part = 0; part < INLINE_PARTS; part++) {
		place->entries = editor_inline_part(&editor->data, part);
		if (entry_block_find(&editor->names.format, place->entries, name, editor->names.is_casefolded,
		                     &place->record))
			return 0;
	}
	return ENOENT;
}

static errcode_t find_linear(struct directory_editor *editor, struct directory_name name, struct editor_place *place)
{
	struct editor_blocks *blocks = &editor->blocks;

	for (uint32_t logical = 0; logical < blocks->count; logical++) {
		editor_blocks_trim(blocks);
		errcode_t error = editor_blocks_get(blocks, logical, BLOCK_LEAF, &place->block);

		if (error)
			return error;
		place->entries = editor_block_entries(blocks, place->block);
		if (entry_block_find(&editor->names.format, place->entries, name, editor->names.is_casefolded,
		                     &place->record))
			return 0;
	}
	return ENOENT;
}

static errcode_t find(struct directory_editor *editor, struct directory_name name, struct editor_place *place)
{
	struct editor_name hashed;

	if (editor->broken)
		return editor->broken;
	if (!is_valid_name(name))
		return EINVAL;
	editor_blocks_trim(&editor->blocks);
	if (editor->form == FORM_INLINE)
		return find_inline(editor, name, place);
	if (editor->form == FORM_LINEAR)
		return find_linear(editor, name, place);
	errcode_t error = editor_name_hash(&editor->names, name, &hashed);

	return error ? error : editor_index_find(&editor->blocks, &editor->names, &hashed, place);
}

/* Marks a block, or the inline data, as changed. Every change must be marked. */
static void change(struct directory_editor *editor, struct editor_block *block)
{
	if (block)
		editor_blocks_change(&editor->blocks, block);
	else
		editor->data.is_changed = true;
	/* A linear directory drops the index flag: its old index would lack the new name. */
	if (editor->form == FORM_LINEAR)
		editor->flags &= ~EXT2_INDEX_FL;
}

errcode_t directory_editor_find(struct directory_editor *editor, struct directory_name name,
                                struct directory_entry *entry)
{
	struct editor_place place;
	errcode_t error = note(editor, find(editor, name, &place));

	if (!error)
		*entry = place.record.entry;
	return error;
}

errcode_t directory_editor_replace(struct directory_editor *editor, struct directory_name name,
                                   struct directory_target target)
{
	struct editor_place place;

	if (!target.ino || target.ino > editor->blocks.inode_count)
		return EINVAL;
	errcode_t error = note(editor, find(editor, name, &place));

	if (error)
		return error;
	entry_block_replace(&editor->names.format, place.entries, &place.record, target);
	change(editor, place.block);
	return 0;
}

errcode_t directory_editor_remove(struct directory_editor *editor, struct directory_name name)
{
	struct editor_place place;
	errcode_t error = note(editor, find(editor, name, &place));

	if (error)
		return error;
	entry_block_remove(place.entries, &place.record);
	change(editor, place.block);
	return 0;
}

/* Moves inline data into a new block. */
static errcode_t leave_inode(struct directory_editor *editor)
{
	struct editor_block *block;
	errcode_t error = editor_blocks_append(&editor->blocks, BLOCK_LEAF, &block);

	if (error)
		return error;
	if (!editor_inline_unpack(&editor->data, editor->blocks.format, editor->blocks.ino,
	                          editor_block_entries(&editor->blocks, block)))
		return EXT2_ET_DIR_CORRUPTED;
	editor_inline_close(&editor->data);
	editor->form = FORM_LINEAR;
	editor->flags &= ~EXT4_INLINE_DATA_FL;
	if (editor->blocks.format->extents)
		editor->flags |= EXT4_EXTENTS_FL;
	return 0;
}

/* Adds the name to the first block that has room for it. ENOSPC. */
static errcode_t add_to_blocks(struct directory_editor *editor, struct directory_name name,
                               struct directory_target target)
{
	struct editor_blocks *blocks = &editor->blocks;
	struct editor_block *block;

	for (uint32_t logical = 0; logical < blocks->count; logical++) {
		editor_blocks_trim(blocks);
		errcode_t error = editor_blocks_get(blocks, logical, BLOCK_LEAF, &block);

		if (error)
			return error;
		if (entry_block_add(blocks->format, editor_block_entries(blocks, block), name, target)) {
			change(editor, block);
			return 0;
		}
	}
	return ENOSPC;
}

static errcode_t add_linear(struct directory_editor *editor, struct directory_name name, struct directory_target target)
{
	struct editor_blocks *blocks = &editor->blocks;
	struct editor_block *block;
	errcode_t error = add_to_blocks(editor, name, target);

	if (error != ENOSPC)
		return error;
	if (blocks->count == 1 && blocks->format->dir_index) {
		error = editor_index_begin(blocks);
		if (error)
			return error;
		editor->form = FORM_INDEXED;
		editor->flags |= EXT2_INDEX_FL;
		return 0;
	}
	if (blocks->count >= directory_most_blocks(blocks->format))
		return EFBIG;
	error = editor_blocks_append(blocks, BLOCK_LEAF, &block);
	if (error)
		return error;
	struct entry_packer packer = entry_packer_begin(blocks->format, editor_block_entries(blocks, block));

	change(editor, block);
	return entry_packer_put(blocks->format, &packer, name, target) ? 0 : EXT2_ET_DIR_CORRUPTED;
}

static errcode_t add(struct directory_editor *editor, struct directory_name name, struct directory_target target)
{
	struct editor_name hashed;

	if (editor->form == FORM_INLINE) {
		if (editor_inline_add(&editor->data, editor->blocks.format, name, target))
			return 0;
		errcode_t error = leave_inode(editor);

		if (error)
			return error;
	}
	if (editor->form == FORM_LINEAR) {
		errcode_t error = add_linear(editor, name, target);

		/* If the directory is still linear, the name has been added. */
		if (error || editor->form == FORM_LINEAR)
			return error;
	}
	errcode_t error = editor_name_hash(&editor->names, name, &hashed);

	return error ? error : editor_index_add(&editor->blocks, &editor->names, &hashed, target);
}

errcode_t directory_editor_add(struct directory_editor *editor, struct directory_name name,
                               struct directory_target target)
{
	struct editor_place place;
	char *bad;
	errcode_t error = note(editor, find(editor, name, &place));

	if (!error)
		return EEXIST;
	if (error != ENOENT)
		return error;
	if (!target.ino || target.ino > editor->blocks.inode_count)
		return EINVAL;
	/* The prototype lacks const, but the function only reads the name. */
	if (editor->names.is_casefolded &&
	    ext2fs_check_encoded_name(editor->names.format.encoding, (char *)(uintptr_t)name.name, name.length_bytes,
	                              &bad))
		return EILSEQ;
	return note(editor, add(editor, name, target));
}

/* Finds the record of ".." in a directory that has blocks. */
static errcode_t find_parent(struct directory_editor *editor, struct editor_block **block,
                             struct directory_record *record)
{
	errcode_t error =
		editor_blocks_get(&editor->blocks, 0, editor->form == FORM_INDEXED ? BLOCK_ROOT : BLOCK_LEAF, block);

	if (error)
		return error;
	struct entry_block entries = { (*block)->bytes, editor->blocks.format->block_bytes };

	if (editor->form == FORM_LINEAR)
		entries = editor_block_entries(&editor->blocks, *block);
	return entry_block_dots(entries, editor->blocks.ino, record) ? 0 : EXT2_ET_DIR_CORRUPTED;
}

errcode_t directory_editor_parent(struct directory_editor *editor, uint32_t *ino)
{
	struct directory_record record;
	struct editor_block *block;

	if (editor->broken)
		return editor->broken;
	if (editor->form == FORM_INLINE) {
		*ino = editor_inline_parent(&editor->data);
		return 0;
	}
	errcode_t error = note(editor, find_parent(editor, &block, &record));

	if (!error)
		*ino = record.entry.ino;
	return error;
}

errcode_t directory_editor_set_parent(struct directory_editor *editor, uint32_t ino)
{
	struct directory_record record;
	struct editor_block *block;

	if (editor->broken)
		return editor->broken;
	if (!ino || ino > editor->blocks.inode_count)
		return EINVAL;
	if (editor->form == FORM_INLINE) {
		editor_inline_set_parent(&editor->data, ino);
		return 0;
	}
	errcode_t error = note(editor, find_parent(editor, &block, &record));

	if (error)
		return error;
	entry_block_replace(editor->blocks.format, (struct entry_block){ block->bytes, 0 }, &record,
	                    (struct directory_target){ ino, EXT2_FT_DIR });
	editor_blocks_change(&editor->blocks, block);
	return 0;
}

struct directory_editor_cost directory_editor_cost(const struct directory_editor *editor)
{
	return (struct directory_editor_cost){ editor->blocks.dirty, editor->blocks.count - editor->blocks.mapped };
}

errcode_t directory_editor_flush(struct directory_editor *editor, struct directory_state *state)
{
	struct editor_blocks *blocks = &editor->blocks;

	if (editor->broken)
		return editor->broken;
	errcode_t error = editor_map_new_blocks(blocks, &editor->allocation);

	if (error)
		return error;
	error = editor_blocks_write(blocks);
	if (error)
		return editor->broken = error;
	*state = (struct directory_state){
		.is_map_changed = blocks->count != editor->first_count,
		.flags = editor->flags,
		.size_bytes = editor->form == FORM_INLINE ? editor->data.byte_count :
		                                            (uint64_t)blocks->count << blocks->format->block_bits,
		.extents = blocks->map.extents,
		.extent_count = blocks->map.count,
		.inline_data = editor->data.bytes,
		.inline_bytes = editor->data.byte_count,
	};
	state->is_changed = state->is_map_changed || editor->flags != editor->first_flags || editor->data.is_changed;
	return 0;
}
