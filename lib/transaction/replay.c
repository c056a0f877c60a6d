/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Uses libext2fs's filesystem: it is opened to find the journal. */
#include "ext2fs/ext2mb.h"

#include <errno.h>
#include <string.h>

#include "filesystem/fs_errors.h"
#include "journal/journal_err.h"
#include "journal/journal_overlay.h"
#include "ondisk/journal_block.h"
#include "transaction/block_writer.h"
#include "transaction/layout.h"
#include "transaction/superblock.h"

struct replay {
	io_channel channel;
	struct layout layout;
	struct journal_source source;
	struct journal_overlay *overlay; /* owned; NULL: there is no journal */
	uint8_t super[SUPERBLOCK_BYTES]; /* as on disk */
	uint8_t *block;                  /* owned */
};

static errcode_t read_superblock(struct replay *replay)
{
	errcode_t error = io_channel_set_blksize(replay->channel, SUPERBLOCK_BYTES);

	return error ? error : io_channel_read_blk64(replay->channel, 1, 1, replay->super);
}

static errcode_t write_superblock(struct replay *replay)
{
	errcode_t error = io_channel_set_blksize(replay->channel, SUPERBLOCK_BYTES);

	if (!error)
		error = io_channel_write_blk64(replay->channel, 1, 1, replay->super);
	return error ? error : io_channel_flush(replay->channel);
}

/* journal_source.read(): a superblock of a journal or a whole block, both at the beginning of a block. */
static errcode_t read_bytes(void *context, uint64_t offset_bytes, void *buffer, size_t bytes)
{
	const struct replay *replay = context;

	return io_channel_read_blk64(replay->channel, offset_bytes / replay->layout.block_bytes, -(int)bytes, buffer);
}

static errcode_t error_of_journal(errcode_t error)
{
	switch (error) {
	case JOURNAL_ET_FAST_COMMIT:
		return EXT2MB_ET_REPLAY;
	case JOURNAL_ET_EXTERNAL:
		return EXT2MB_ET_NO_JOURNAL;
	case JOURNAL_ET_FEATURES:
	case JOURNAL_ET_SUPERBLOCK:
	case JOURNAL_ET_DAMAGED:
	case JOURNAL_ET_LARGE:
		return EXT2MB_ET_BAD_JOURNAL;
	default:
		return error;
	}
}

static uint64_t super_block(const struct replay *replay)
{
	return SUPERBLOCK_OFFSET_BYTES / replay->layout.block_bytes;
}

static uint8_t *super_in_block(const struct replay *replay)
{
	return replay->block + SUPERBLOCK_OFFSET_BYTES % replay->layout.block_bytes;
}

/* Reads the newest contents of a block that the log has. */
static errcode_t read_copy(struct replay *replay, const struct journal_overlay_block *copy)
{
	errcode_t error = io_channel_read_blk64(replay->channel, copy->physical, 1, replay->block);

	if (!error && copy->is_escaped)
		journal_unescape(replay->block);
	return error;
}

/*
 * Blocks of the log may lie after the filesystem's end as its superblock has it, if the log enlarges the filesystem.
 * None may be the journal's own: a second replay would find another log.
 */
static errcode_t check_places(struct replay *replay)
{
	const struct journal_overlay *overlay = replay->overlay;
	size_t count = journal_overlay_count(overlay);
	uint64_t end = superblock_blocks(replay->super);
	struct journal_overlay_block copy;

	if (journal_overlay_find(overlay, super_block(replay), &copy)) {
		errcode_t error = read_copy(replay, &copy);

		if (error)
			return error;
		const uint8_t *super = super_in_block(replay);

		if (!superblock_has_magic(super) || !superblock_checksum_is_good(super) ||
		    superblock_block_bytes(super) != replay->layout.block_bytes)
			return EXT2MB_ET_BAD_JOURNAL;
		if (superblock_blocks(super) > end)
			end = superblock_blocks(super);
	} else if (!superblock_checksum_is_good(replay->super)) {
		return EXT2_ET_SB_CSUM_INVALID;
	}
	if (count && journal_overlay_get(overlay, count - 1).block >= end)
		return EXT2MB_ET_BAD_JOURNAL;
	for (size_t index = 0; index < replay->layout.journal.count; index++) {
		const struct block_run *run = &replay->layout.journal.runs[index];

		if (journal_overlay_has(overlay, run->start, run->count))
			return EXT2MB_ET_BAD_JOURNAL;
	}
	return 0;
}

static errcode_t read_layout(struct replay *replay, ext2_filsys fs)
{
	errcode_t error = layout_read_journal(fs, &replay->layout);

	if (!error && ext2fs_has_feature_journal(fs->super) && !replay->layout.has_journal)
		error = EXT2MB_ET_NO_JOURNAL;
	return error;
}

static errcode_t read_log(struct replay *replay, ext2_filsys fs)
{
	errcode_t error = read_layout(replay, fs);

	/* Without a journal the kernel ignores the flag. */
	if (error || !replay->layout.has_journal)
		return error;
	replay->source = (struct journal_source){
		.read = read_bytes,
		.context = replay,
		.block_bytes = replay->layout.block_bytes,
		.blocks = (uint64_t)INT64_MAX / replay->layout.block_bytes,
		.ranges = replay->layout.journal_runs,
		.range_count = replay->layout.journal_run_count,
	};
	replay->block = malloc(replay->layout.block_bytes);
	if (!replay->block)
		return ENOMEM;
	error = io_channel_set_blksize(replay->channel, (int)replay->layout.block_bytes);
	if (!error)
		error = error_of_journal(journal_overlay_read(&replay->source, &replay->overlay, NULL));
	return error ? error : check_places(replay);
}

/*
 * The handle neither allocates nor writes. A superblock of which one sector is old has a wrong checksum, whatever the
 * log has; check_places() decides.
 */
static errcode_t find_log(struct replay *replay, const char *name, const char *io_options, io_manager manager,
                          errcode_t (*read)(struct replay *replay, ext2_filsys fs))
{
	ext2_filsys fs;
	errcode_t error = FS_ERROR_OF(
		ext2fs_open2(name, io_options, EXT2_FLAG_64BITS | EXT2_FLAG_IGNORE_CSUM_ERRORS, 0, 0, manager, &fs));

	if (error)
		return error;
	fs->flags &= ~EXT2_FLAG_IGNORE_CSUM_ERRORS;
	if (ext2fs_has_feature_mmp(fs->super))
		error = FS_ERROR_OF(ext2fs_mmp_start(fs));
	if (!error)
		error = read(replay, fs);
	ext2fs_free(fs);
	return error;
}

/* A superblock of the log may be from before the flag was set. Without it the rest of the log would be ignored. */
static errcode_t write_copies(struct replay *replay)
{
	size_t count = journal_overlay_count(replay->overlay);
	struct block_writer writer;
	errcode_t error = block_writer_init(&writer, replay->channel, replay->layout.block_bytes);

	for (size_t index = 0; !error && index < count; index++) {
		struct journal_overlay_block copy = journal_overlay_get(replay->overlay, index);

		error = read_copy(replay, &copy);
		if (!error && copy.block == super_block(replay))
			superblock_set_needs_recovery(super_in_block(replay), true);
		if (!error)
			error = block_writer_add(&writer, copy.block, replay->block);
	}
	if (!error)
		error = block_writer_finish(&writer);
	block_writer_destroy(&writer);
	return error ? error : io_channel_flush(replay->channel);
}

/* The mark is on disk before the journal's superblock forgets the error. */
static errcode_t mark_damaged(struct replay *replay)
{
	if (!journal_overlay_figures(replay->overlay).error)
		return 0;
	errcode_t error = read_superblock(replay);

	if (error)
		return error;
	superblock_set_needs_recovery(replay->super, true);
	superblock_mark_damaged(replay->super);
	return write_superblock(replay);
}

/* Without an overlay the log is one that nobody reads, and is left as it is. */
static errcode_t empty_journal(struct replay *replay)
{
	uint64_t place = replay->layout.journal_runs[0].physical;
	uint8_t bytes[JOURNAL_SUPERBLOCK_BYTES];
	struct journal_superblock super;
	errcode_t error = io_channel_set_blksize(replay->channel, (int)replay->layout.block_bytes);

	if (!error)
		error = io_channel_read_blk64(replay->channel, place, -JOURNAL_SUPERBLOCK_BYTES, bytes);
	if (error)
		return error;
	if (journal_superblock_read(bytes, &super) != JOURNAL_SUPERBLOCK_GOOD)
		return EXT2MB_ET_BAD_JOURNAL;
	if (!super.start && !super.error)
		return 0;
	if (replay->overlay) {
		super.sequence = journal_overlay_figures(replay->overlay).next_sequence;
		super.start = 0;
	}
	super.error = 0;
	journal_superblock_update(bytes, &super);
	error = io_channel_write_blk64(replay->channel, place, -JOURNAL_SUPERBLOCK_BYTES, bytes);
	return error ? error : io_channel_flush(replay->channel);
}

static errcode_t clear_needs_recovery(struct replay *replay)
{
	errcode_t error = read_superblock(replay);

	if (error)
		return error;
	/* The checksum of a torn superblock is that of the other value. */
	superblock_set_needs_recovery(replay->super, true);
	superblock_set_needs_recovery(replay->super, false);
	return write_superblock(replay);
}

static errcode_t write_all(struct replay *replay)
{
	errcode_t error = replay->overlay ? write_copies(replay) : 0;

	if (!error && replay->overlay)
		error = mark_damaged(replay);
	if (!error && replay->overlay)
		error = empty_journal(replay);
	return error ? error : clear_needs_recovery(replay);
}

errcode_t ext2mb_journal_replay(const char *name, const char *io_options, io_manager manager, io_channel channel)
{
	struct replay replay = { .channel = channel };
	errcode_t error = name && manager && channel ? read_superblock(&replay) : EXT2MB_ET_BAD_ARGUMENT;

	if (error || !superblock_needs_replay(replay.super))
		return error;
	superblock_mend(replay.super);
	if (superblock_needs_recovery(replay.super))
		error = find_log(&replay, name, io_options, manager, read_log);
	else if (!superblock_checksum_is_good(replay.super))
		error = EXT2_ET_SB_CSUM_INVALID;
	if (!error)
		error = write_all(&replay);
	layout_free(&replay.layout);
	journal_overlay_free(replay.overlay);
	free(replay.block);
	return error;
}

errcode_t ext2mb_journal_mark_aborted(const char *name, const char *io_options, io_manager manager, io_channel channel)
{
	struct replay replay = { .channel = channel };
	errcode_t error = EXT2MB_ET_BAD_ARGUMENT;

	if (name && manager && channel)
		error = find_log(&replay, name, io_options, manager, read_layout);

	if (!error)
		error = read_superblock(&replay);
	if (!error && (!replay.layout.has_journal || superblock_needs_replay(replay.super)))
		error = EXT2MB_ET_BAD_ARGUMENT;
	if (!error) {
		superblock_mark_damaged(replay.super);
		error = write_superblock(&replay);
	}
	if (!error)
		error = empty_journal(&replay);
	layout_free(&replay.layout);
	return error;
}
