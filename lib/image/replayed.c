/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/replayed.h"

#include <errno.h>
#include <sys/stat.h>

#include "image/inode.h"
#include "journal/journal_overlay.h"
#include "image/map_walk.h"
#include "ondisk/journal_block.h"
#include "support/vector.h"

#define ACTION "cannot read the journal"
#define MOST_BLOCKS 10240000 /* mke2fs makes no larger journal */

/* The journal's place in the image. */
struct pieces {
	struct journal_range *items;
	size_t count, capacity;
	uint64_t end; /* of its file, in blocks */
	errcode_t error;
};

static errcode_t refuse(const struct volume *volume, struct problem *problem, const char *reason)
{
	return problem_set_reason(problem, JOURNAL_ET_SUPERBLOCK, volume->path, ACTION, "%s", reason);
}

static bool add_piece(void *context, const struct map_record *record)
{
	struct pieces *pieces = context;

	/* The kernel reads nothing from an unwritten extent: it counts as a hole. */
	if (record->is_unwritten || record->logical >= pieces->end)
		return record->logical < pieces->end;
	pieces->error = vector_reserve(&pieces->items, &pieces->capacity, pieces->count + 1, sizeof(*pieces->items));
	if (pieces->error)
		return false;
	uint64_t left = pieces->end - record->logical;

	pieces->items[pieces->count++] = (struct journal_range){
		record->logical,
		record->physical,
		record->count < left ? record->count : left,
	};
	return true;
}

static errcode_t find_pieces(const struct volume *volume, struct pieces *pieces, struct problem *problem)
{
	SCOPE_FREE void *raw = malloc(volume->format.inode_bytes);
	uint64_t blocks_read = 0;
	struct volume_inode inode;
	struct map_walker walker;
	struct map_shape shape;

	if (!raw)
		return problem_set(problem, ENOMEM, volume->path, ACTION);
	errcode_t error = volume_inode_read(volume, volume->superblock.s_journal_inum, raw, &inode);

	if (error == EXT2_ET_BAD_INODE_NUM || error == EXT2_ET_INODE_CSUM_INVALID ||
	    (!error && (!S_ISREG(inode.view.mode) || !inode.view.links || !volume_inode_has_map(&inode))))
		return refuse(volume, problem, "its inode is damaged");
	if (!error)
		error = map_walker_open(volume, (struct damage_listener){ 0 }, &blocks_read, &walker);
	if (error)
		return problem_set(problem, error, volume->path, ACTION);
	walker.is_strict = true;
	pieces->end = inode.all.value.size_bytes >> volume->format.block_bits;
	pieces->end = pieces->end < MOST_BLOCKS ? pieces->end : MOST_BLOCKS;
	map_walk(&walker, inode.ino, &inode.view, add_piece, pieces, &shape);
	error = pieces->error  ? problem_set(problem, pieces->error, volume->path, ACTION) :
	        walker.losses  ? refuse(volume, problem, "the map of its file is damaged") :
	        !pieces->count ? refuse(volume, problem, "its file has no blocks") :
	                         0;
	map_walker_close(&walker);
	return error;
}

/*
 * The log may have enlarged the filesystem beyond its superblock's size, so its blocks may lie up to the device's end.
 */
static uint64_t most_blocks(const struct volume *volume)
{
	uint64_t end = volume->geometry.end_block;

	return volume->device_blocks > end ? volume->device_blocks : end;
}

static errcode_t read_overlay(const struct volume *volume, struct journal_overlay **overlay, struct problem *problem)
{
	const struct ext2_super_block *super = &volume->superblock;
	struct journal_source source = volume_in_place(volume);
	struct pieces pieces = { 0 };
	errcode_t error = 0;

	source.blocks = most_blocks(volume);
	source.is_external = super->s_journal_dev && !super->s_journal_inum;
	if (!source.is_external)
		error = find_pieces(volume, &pieces, problem);
	source.ranges = pieces.items;
	source.range_count = pieces.count;
	if (!error)
		error = journal_overlay_read(&source, overlay, problem);
	free(pieces.items);
	return error;
}

errcode_t volume_journal_error(const struct volume *volume, int32_t *ret, struct problem *problem)
{
	struct journal_source source = volume_in_place(volume);
	uint8_t bytes[JOURNAL_SUPERBLOCK_BYTES];
	struct journal_superblock super;
	struct pieces pieces = { 0 };
	errcode_t error = find_pieces(volume, &pieces, problem);

	*ret = 0;
	if (!error && !pieces.items[0].logical) {
		error = source.read(source.context, pieces.items[0].physical * source.block_bytes, bytes,
		                    sizeof(bytes));
		if (!error && journal_superblock_read(bytes, &super) == JOURNAL_SUPERBLOCK_GOOD)
			*ret = super.error;
	}
	free(pieces.items);
	if (error != JOURNAL_ET_SUPERBLOCK)
		return error ? problem_set(problem, error, volume->path, ACTION) : 0;
	problem_clear(problem);
	return 0;
}

errcode_t volume_open_as_replayed(const char *path, uint64_t offset_bytes, struct volume *volume,
                                  struct problem *problem)
{
	struct journal_overlay *overlay = NULL;
	errcode_t error = volume_open(path, offset_bytes, volume, problem);

	if (error || !volume->needs_recovery || (volume->is_mounted && !volume->is_read_only))
		return error;
	/* Without a journal the kernel ignores the flag. */
	if (!(volume->superblock.s_feature_compat & EXT3_FEATURE_COMPAT_HAS_JOURNAL)) {
		volume->is_replayed = true;
		return 0;
	}
	error = read_overlay(volume, &overlay, problem);
	if (!error)
		error = volume_overlay(volume, overlay, problem);
	/* The missing part is reported first. */
	if (error && volume->readable_end < volume->geometry.end_block) {
		problem_clear(problem);
		error = volume_check_end(volume, path, "cannot read all of it", problem);
	}
	if (error) {
		volume_close(volume);
		return error;
	}
	/* As a mount does if the kernel has aborted the journal. */
	volume->was_aborted = journal_overlay_figures(overlay).error;
	if (volume->was_aborted)
		volume->superblock.s_state |= EXT2_ERROR_FS;
	return 0;
}
