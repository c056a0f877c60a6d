/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Uses libext2fs's filesystem; see the header. */
#include "orphan/fs_orphan.h"

#include <errno.h>
#include <time.h>

#include "ext2fs/ext2mb.h"
#include "filesystem/fs_errors.h"
#include "ondisk/orphan_block.h"

/* Maps each block of the file. */
static errcode_t map_blocks(struct fs_orphan *state, struct ext2_inode *inode, const struct orphan_message *why)
{
	const ext2_filsys fs = state->fs;

	for (uint32_t block = 0; block < state->blocks; block++) {
		blk64_t physical = 0;
		int flags = 0;
		errcode_t error =
			FS_ERROR_OF(ext2fs_bmap2(fs, state->file_ino, inode, NULL, 0, block, &flags, &physical));

		if (!error && (!physical || flags & BMAP_RET_UNINIT || physical < fs->super->s_first_data_block ||
		               physical >= ext2fs_blocks_count(fs->super)))
			error = EXT2MB_ET_ORPHAN_HOLE;
		if (error) {
			orphan_message_say(why, "block %u of the orphan file (inode %u)", block, state->file_ino);
			return error;
		}
		state->physical[block] = physical;
	}
	return 0;
}

static errcode_t check_file(struct fs_orphan *state, const struct ext2_inode *inode)
{
	uint64_t size_bytes = EXT2_I_SIZE(inode);

	if (!LINUX_S_ISREG(inode->i_mode) || inode->i_flags & EXT4_INLINE_DATA_FL || !size_bytes ||
	    size_bytes % state->format.block_bytes)
		return EXT2MB_ET_ORPHAN_FILE;
	if (size_bytes / state->format.block_bytes > ORPHAN_FILE_MAX_BLOCKS)
		return EXT2MB_ET_ORPHAN_TOO_BIG;
	return 0;
}

static errcode_t find_file(struct fs_orphan *state, const struct orphan_message *why)
{
	const struct ext2_super_block *super = state->fs->super;
	struct ext2_inode inode;
	errcode_t error;

	state->file_ino = super->s_orphan_file_inum;
	orphan_message_say(why, "inode %u", state->file_ino);
	if (state->file_ino < EXT2_FIRST_INODE(super) || state->file_ino > super->s_inodes_count)
		return EXT2MB_ET_ORPHAN_FILE;
	error = FS_ERROR_OF(ext2fs_read_inode(state->fs, state->file_ino, &inode));
	if (!error)
		error = check_file(state, &inode);
	if (error)
		return error;
	state->blocks = (uint32_t)(EXT2_I_SIZE(&inode) / state->format.block_bytes);
	state->file_seed = ondisk_inode_seed(&state->format, state->file_ino, inode.i_generation);
	state->physical = calloc(state->blocks, sizeof(*state->physical));
	return state->physical ? map_blocks(state, &inode, why) : ENOMEM;
}

errcode_t fs_orphan_open(struct fs_orphan *state, ext2_filsys fs, pthread_mutex_t *io_lock,
                         const struct orphan_message *why)
{
	errcode_t error = 0;

	*state = (struct fs_orphan){ .fs = fs, .io_lock = io_lock };
	if (ext2fs_has_feature_journal_needs_recovery(fs->super))
		return EXT2MB_ET_NEEDS_RECOVERY;
	if (ondisk_format_read(fs->super, &state->format))
		return EXT2MB_ET_BAD_GEOMETRY;
	state->buffer = malloc(state->format.block_bytes);
	if (!state->buffer)
		return ENOMEM;
	if (ext2fs_has_feature_orphan_file(fs->super)) {
		pthread_mutex_lock(io_lock);
		error = find_file(state, why);
		pthread_mutex_unlock(io_lock);
	}
	if (error)
		fs_orphan_close(state);
	else
		orphan_message_say(why, "%s", "");
	return error;
}

void fs_orphan_close(struct fs_orphan *state)
{
	free(state->physical);
	free(state->buffer);
}

static errcode_t check_block(const struct fs_orphan *state, uint32_t block, uint32_t *entries)
{
	switch (orphan_block_read(&state->format, state->file_seed, state->physical[block], state->buffer, entries)) {
	case ORPHAN_BLOCK_GOOD:
		return 0;
	case ORPHAN_BLOCK_BAD_MAGIC:
		return EXT2MB_ET_ORPHAN_MAGIC;
	default:
		return EXT2MB_ET_ORPHAN_CHECKSUM;
	}
}

errcode_t fs_orphan_read_block(struct fs_orphan *state, uint32_t block, uint32_t *entries,
                               const struct orphan_message *why)
{
	pthread_mutex_lock(state->io_lock);
	errcode_t error = io_channel_read_blk64(state->fs->io, state->physical[block], 1, state->buffer);
	pthread_mutex_unlock(state->io_lock);

	if (!error)
		error = check_block(state, block, entries);
	if (error)
		orphan_message_say(why, "block %u of the orphan file (inode %u), at block %llu of the filesystem",
		                   block, state->file_ino, (unsigned long long)state->physical[block]);
	return error;
}

errcode_t fs_orphan_write_block(struct fs_orphan *state, uint32_t block, const uint32_t *entries)
{
	orphan_block_write(&state->format, state->file_seed, state->physical[block], entries, state->buffer);
	pthread_mutex_lock(state->io_lock);
	errcode_t error = io_channel_write_blk64(state->fs->io, state->physical[block], 1, state->buffer);
	pthread_mutex_unlock(state->io_lock);
	return error;
}

/* Brent's cycle detection: the mark moves to the present node after 1, 2, 4, ... steps. */
struct circle_watch {
	uint32_t mark;
	uint64_t steps;
	uint64_t limit;
};

static bool has_come_round(struct circle_watch *watch, uint32_t ino)
{
	if (ino == watch->mark)
		return true;
	if (++watch->steps >= watch->limit) {
		watch->mark = ino;
		watch->steps = 0;
		watch->limit = 2 * watch->limit + 1;
	}
	return false;
}

errcode_t fs_orphan_read_list(struct fs_orphan *state, struct orphan_list *list, const struct orphan_message *why)
{
	const struct ext2_super_block *super = state->fs->super;
	struct circle_watch watch = { 0 };
	uint32_t next;

	for (uint32_t ino = super->s_last_orphan; ino; ino = next) {
		struct ext2_inode inode;
		errcode_t error = EXT2MB_ET_ORPHAN_LIST;

		orphan_message_say(why, "inode %u on the superblock's list of orphans", ino);
		if (ino < EXT2_FIRST_INODE(super) || ino > super->s_inodes_count || has_come_round(&watch, ino))
			return error;
		pthread_mutex_lock(state->io_lock);
		error = ext2fs_read_inode(state->fs, ino, &inode);
		pthread_mutex_unlock(state->io_lock);
		if (error)
			return error;
		next = inode.i_dtime;
		error = orphan_list_load(list, ino, next);
		if (error)
			return error;
	}
	orphan_message_say(why, "%s", "");
	return 0;
}

/* From its block: inodes may have been written past libext2fs, which keeps some in memory. */
static errcode_t read_inode(struct fs_orphan *state, uint32_t ino, struct ext2_inode *inode)
{
	errcode_t error = ext2fs_flush_icache(state->fs);

	return error ? error : ext2fs_read_inode(state->fs, ino, inode);
}

static errcode_t write_link(struct fs_orphan *state, uint32_t ino, uint32_t i_dtime)
{
	struct ext2_inode inode;
	errcode_t error = read_inode(state, ino, &inode);

	if (error || inode.i_dtime == i_dtime)
		return error;
	inode.i_dtime = i_dtime;
	return ext2fs_write_inode(state->fs, ino, &inode);
}

/*
 * Clears i_dtime of an inode that has left the list, unless its owner has given it another value. A deleted inode
 * gets the present time instead: e2fsck objects to a deletion at time 0.
 */
static errcode_t clear_link(struct fs_orphan *state, const struct orphan_node *node)
{
	struct ext2_inode inode;
	errcode_t error = read_inode(state, node->ino, &inode);

	if (error || inode.i_dtime != node->written || !inode.i_mode)
		return error;
	return write_link(state, node->ino, inode.i_links_count ? 0 : fs_orphan_now(state->fs));
}

static errcode_t write_links(struct fs_orphan *state, struct orphan_list *list)
{
	/* Inodes that left come first: they may have been added again. */
	for (uint32_t number = list->leaving; number != ORPHAN_LIST_NONE; number = list->nodes[number].older) {
		errcode_t error = clear_link(state, &list->nodes[number]);
		if (error)
			return error;
	}
	for (uint32_t number = list->newest; number != ORPHAN_LIST_NONE; number = list->nodes[number].older) {
		struct orphan_node *node = &list->nodes[number];
		uint32_t link = orphan_list_link(list, node);

		if (node->is_written && node->written == link)
			continue;
		errcode_t error = write_link(state, node->ino, link);
		if (error)
			return error;
		node->written = link;
		node->is_written = true;
	}
	orphan_list_forget_leaving(list);
	return 0;
}

errcode_t fs_orphan_write_list(struct fs_orphan *state, struct orphan_list *list)
{
	struct ext2_super_block *super = state->fs->super;
	uint32_t newest = list->newest == ORPHAN_LIST_NONE ? 0 : list->nodes[list->newest].ino;

	pthread_mutex_lock(state->io_lock);
	errcode_t error = write_links(state, list);
	if (!error && super->s_last_orphan != newest) {
		super->s_last_orphan = newest;
		ext2fs_mark_super_dirty(state->fs);
	}
	pthread_mutex_unlock(state->io_lock);
	return error;
}

void fs_orphan_mark_present(struct fs_orphan *state, bool has_entries)
{
	struct ext2_super_block *super = state->fs->super;

	pthread_mutex_lock(state->io_lock);
	if (has_entries != !!ext2fs_has_feature_orphan_present(super)) {
		if (has_entries)
			ext2fs_set_feature_orphan_present(super);
		else
			ext2fs_clear_feature_orphan_present(super);
		ext2fs_mark_super_dirty(state->fs);
	}
	pthread_mutex_unlock(state->io_lock);
}

uint32_t fs_orphan_now(ext2_filsys fs)
{
	return (uint32_t)(fs->now ? fs->now : time(NULL));
}
