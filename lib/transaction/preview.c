/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transaction/preview.h"

#include "ext2fs/ext2mb_err.h"
#include "transaction/channel.h"
#include "transaction/commit.h"

struct preview {
	const struct channel_state *state;
	preview_function show;
	void *context;
	uint64_t next; /* block of the journal */
};

static bool find_in_group(const struct layout *layout, struct preview_block *shown)
{
	for (shown->group = 0; shown->group < layout->groups; shown->group++) {
		const struct group_layout *group = &layout->group[shown->group];

		shown->kind = PREVIEW_BLOCK_BITMAP;
		if (shown->block == group->block_bitmap)
			return true;
		shown->kind = PREVIEW_INODE_BITMAP;
		if (shown->block == group->inode_bitmap)
			return true;
		shown->kind = PREVIEW_INODE_TABLE;
		if (shown->block >= group->inode_table &&
		    shown->block - group->inode_table < layout->inode_table_blocks)
			return true;
	}
	return false;
}

static void find_kind(const struct channel_state *state, struct preview_block *shown)
{
	const struct layout *layout = &state->layout;

	shown->kind = PREVIEW_SUPERBLOCK;
	if (shown->block == channel_super_block(state))
		return;
	shown->kind = PREVIEW_DESCRIPTORS;
	for (uint32_t index = 0; index < layout->descriptor_count; index++)
		if (shown->block == layout->descriptor_blocks[index])
			return;
	/* All other metadata with a fixed place belongs to a group. */
	if (block_ranges_has(&layout->fixed, shown->block) && find_in_group(layout, shown))
		return;
	shown->group = 0;
	shown->kind = PREVIEW_OTHER;
}

static errcode_t show_block(struct preview *preview, struct preview_block shown)
{
	uint64_t one = 1;

	if (preview->state->layout.has_journal && shown.kind != PREVIEW_BACKUP) {
		shown.journal_block = preview->next++;
		shown.log_block = layout_journal_block(&preview->state->layout, shown.journal_block, &one);
	}
	return preview->show(preview->context, &shown);
}

static errcode_t show_logged(struct preview *preview, const struct commit_changes *changes)
{
	const struct channel_state *state = preview->state;
	bool has_journal = state->layout.has_journal;
	uint32_t most = has_journal ? journal_descriptor_tags(&state->journal.format) : 0;
	errcode_t error = 0;

	for (size_t index = 0; index < changes->count && !error; index++) {
		struct preview_block shown = { .block = changes->blocks[index]->block };

		find_kind(state, &shown);
		if (has_journal && index % most == 0)
			error = show_block(preview, (struct preview_block){ .kind = PREVIEW_DESCRIPTOR });
		if (!error)
			error = show_block(preview, shown);
	}
	if (!error && has_journal && changes->count)
		error = show_block(preview, (struct preview_block){ .kind = PREVIEW_COMMIT_BLOCK });
	return error;
}

static errcode_t show_all(struct preview *preview, const struct commit_changes *changes)
{
	errcode_t error = show_logged(preview, changes);

	for (size_t index = 0; index < changes->backups && !error; index++)
		error = show_block(preview, (struct preview_block){
						    .kind = PREVIEW_BACKUP,
						    .block = changes->blocks[changes->count + index]->block,
					    });
	return error;
}

errcode_t preview_commit(io_channel channel, preview_function show, void *context)
{
	struct channel_state *state = channel_state_of(channel);
	struct commit_changes changes = { 0 };

	if (!state)
		return EXT2MB_ET_NO_TRANSACTION;
	pthread_rwlock_wrlock(&state->lock);
	struct preview preview = { state, show, context, state->journal.super.first };
	errcode_t error = state->phase == TRANSACTION_OPEN ? commit_collect(state, &changes) :
	                  state->phase == TRANSACTION_OVER ? EXT2MB_ET_TRANSACTION_OVER :
	                                                     EXT2_ET_RO_FILSYS;

	if (!error)
		error = show_all(&preview, &changes);
	pthread_rwlock_unlock(&state->lock);
	free(changes.blocks);
	return error;
}
