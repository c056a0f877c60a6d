/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/target/holding.h"

#include <errno.h>

#include "image/inode.h"
#include "ondisk/file_map.h"
#include "update/target/orphans.h"

#define EXTENT_BYTES 12u
/* As a rule, the runs of blocks of a large file are not shorter. */
#define BLOCKS_OF_A_RUN 64u

static errcode_t read_room(const struct update_options *options, const struct volume *volume, uint64_t *room)
{
	SCOPE_FREE void *raw = malloc(volume->format.inode_bytes);
	struct volume_inode journal;
	errcode_t error = raw ? volume_inode_read(volume, volume->superblock.s_journal_inum, raw, &journal) : ENOMEM;

	if (error)
		return error;
	*room = journal.view.size_bytes >> volume->format.block_bits;
	if (options->most_logged_blocks && options->most_logged_blocks < *room)
		*room = options->most_logged_blocks;
	return 0;
}

errcode_t holding_begin(const struct update_options *options, const struct volume *volume, struct holding *holding)
{
	*holding = (struct holding){ .volume = volume };
	/* Then a copy is changed, in transactions of any size. */
	if (!volume->superblock.s_journal_inum)
		return 0;
	errcode_t error = read_room(options, volume, &holding->room);

	if (error)
		return error;
	holding->most_groups = orphans_groups_in(orphans_share_of(holding->room));
	if (volume->geometry.groups <= holding->most_groups)
		holding->most_groups = 0;
	return 0;
}

/* Blocks are counted in whole clusters, as each of the map's takes one. */
static uint64_t map_blocks(const struct holding *holding, uint64_t blocks)
{
	const struct ondisk_format *format = &holding->volume->format;
	uint64_t runs = blocks / BLOCKS_OF_A_RUN + 1;
	uint64_t map = format->extents ? 1 + runs * EXTENT_BYTES / format->block_bytes * 2 :
	                                 2 + blocks / (format->block_bytes / sizeof(uint32_t));

	return map << format->cluster_bits;
}

static uint64_t larger(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

void holding_add(struct holding *holding, uint64_t blocks, uint64_t old_blocks)
{
	uint64_t groups = holding->volume->geometry.groups;

	if (!holding->most_groups)
		return;
	groups = blocks < groups ? blocks : groups;
	if (blocks > HOLDING_LEAST_BLOCKS && groups > holding->most_groups) {
		holding->parts = larger(holding->parts, groups / holding->most_groups + 1);
		/* The parts share the file's map, and each has a block more. */
		holding->part_map = larger(holding->part_map, map_blocks(holding, blocks));
	}
	if (old_blocks > HOLDING_LEAST_BLOCKS) {
		holding->replaced++;
		holding->old_map = larger(holding->old_map, map_blocks(holding, old_blocks));
	}
}

uint64_t holding_most(const struct holding *holding, uint64_t *blocks)
{
	uint64_t most = holding->room / ACTION_LOGGED_BLOCKS + 1;
	uint64_t replaced = holding->replaced < most ? holding->replaced : most;

	/* Only one file at a time is written in parts. */
	*blocks = holding->part_map + (holding->parts << holding->volume->format.cluster_bits) +
	          replaced * holding->old_map;
	return holding->parts + replaced;
}
