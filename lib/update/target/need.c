/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/target/need.h"

#include <errno.h>
#include <sys/stat.h>

#include "image/inode.h"
#include "ondisk/file_map.h"
#include "update/build/xattr_list.h"
#include "update/target/holding.h"

/* The root of a map holds this many extents. Each block of a map is at least half full. */
#define ROOT_EXTENTS 4u
#define EXTENT_BYTES 12u

static uint64_t clusters(const struct ondisk_format *format, uint64_t blocks)
{
	uint64_t mask = (UINT64_C(1) << format->cluster_bits) - 1;

	return (blocks + mask) >> format->cluster_bits;
}

/*
 * Counts one extent for each run of contents. The map of an indirect file has a block for as many of the file's blocks
 * as numbers fit into one.
 */
static uint64_t contents_blocks(const struct update_plan *plan, const struct ondisk_format *format,
                                const struct tree_node *node)
{
	uint64_t in_clusters = 0, runs = 0, map = 0;
	struct block_runs state;
	uint32_t logical, blocks;

	protected_nodes_runs(&plan->protection, format, node, &state);
	while (block_runs_next(&state, &logical, &blocks)) {
		in_clusters += clusters(format, blocks);
		runs += 1 + blocks / FILE_EXTENT_MAX_BLOCKS;
		map += format->extents ? 0 : 2 + blocks / (format->block_bytes / sizeof(uint32_t));
	}
	if (format->extents && runs > ROOT_EXTENTS)
		map += 1 + runs * EXTENT_BYTES / format->block_bytes * 2;
	return (in_clusters + map) << format->cluster_bits;
}

/* The inodes and blocks of one action. */
struct cost {
	uint64_t blocks, inodes;
};

/* A value in an inode of its own, with the map's blocks in an indirect one. */
static uint64_t value_blocks(const struct ondisk_format *format, uint32_t bytes)
{
	uint64_t blocks = (bytes + format->block_bytes - 1) >> format->block_bits;
	uint64_t map = format->extents || blocks <= EXT2_NDIR_BLOCKS ?
	                       0 :
	                       2 + blocks / (format->block_bytes / sizeof(uint32_t));

	return (clusters(format, blocks) + map) << format->cluster_bits;
}

/* keeps_inline: data that stay in the inode need the room that xattrs could have there. */
static errcode_t count_xattrs(const struct update_plan *plan, const struct ondisk_format *format,
                              const struct tree_node *node, bool keeps_inline, struct cost *cost)
{
	struct ondisk_format form = *format;
	struct xattr_list list;

	if (!plan->tree->xattr_sets[node->xattrs].count)
		return 0;
	cost->blocks += UINT64_C(1) << format->cluster_bits;
	if (!format->ea_inode)
		return 0;
	if (keeps_inline) {
		form.inode_bytes = EXT2_GOOD_OLD_INODE_SIZE;
		form.extra_isize = 0;
	}
	errcode_t error = xattr_list_make(plan->tree, node->xattrs, &form, &list);

	/* They fit an inode that has no data. */
	if (error == E2BIG && keeps_inline)
		error = xattr_list_make(plan->tree, node->xattrs, format, &list);
	for (uint32_t i = 0; !error && i < list.count; i++) {
		if (!(list.layout.in_value_inode >> i & 1))
			continue;
		cost->inodes++;
		cost->blocks += value_blocks(format, (uint32_t)list.list[i].value_bytes);
	}
	return error;
}

static uint64_t node_blocks(const struct update_plan *plan, const struct ondisk_format *format,
                            const struct tree_node *node)
{
	uint64_t cluster = UINT64_C(1) << format->cluster_bits, blocks = 0;

	if (S_ISREG(node->mode))
		blocks = contents_blocks(plan, format, node);
	else if (S_ISDIR(node->mode) || (S_ISLNK(node->mode) && node->size_bytes > INODE_FAST_SYMLINK_BYTES))
		blocks = cluster;
	return blocks;
}

/* Counts what the action takes. */
static errcode_t count_taken(const struct update_plan *plan, const struct ondisk_format *format,
                             const struct update_action *action, struct cost *cost)
{
	const struct tree_node *node = &plan->tree->nodes[action->node];
	bool makes = action->verb == UPDATE_CREATE || action->verb == UPDATE_REPLACE;

	*cost = (struct cost){ .inodes = action->verb == UPDATE_CREATE };
	if (makes)
		cost->blocks = node_blocks(plan, format, node);
	return makes || action->changes_xattrs ? count_xattrs(plan, format, node, !makes, cost) : 0;
}

static void take(struct update_balance *balance, uint64_t count)
{
	balance->taken += count;
	if (balance->taken > balance->freed && balance->taken - balance->freed > balance->peak)
		balance->peak = balance->taken - balance->freed;
}

/* With its last name, an inode gives back its blocks. */
static errcode_t count_freed(const struct volume *volume, uint32_t ino, bool keeps_inode, uint8_t *raw,
                             struct update_need *need)
{
	struct volume_inode inode;
	errcode_t error = volume_inode_read(volume, ino, raw, &inode);

	if (error)
		return error;
	if (S_ISDIR(inode.view.mode) || inode.view.links == 1 || keeps_inode) {
		need->blocks.freed += inode.all.value.blocks;
		need->inodes.freed += !keeps_inode;
	}
	return 0;
}

/* Returns the bytes by which a name makes its directory longer. */
static uint64_t name_bytes(const struct tree_node *node)
{
	return node->name_bytes + 16u;
}

errcode_t update_need_count(const struct update_options *options, struct update_plan *plan, const struct volume *volume,
                            struct update_need *need)
{
	const struct ondisk_format *format = &volume->format;
	SCOPE_FREE uint8_t *raw = malloc(format->inode_bytes);
	uint64_t entry_bytes = 0;
	struct holding holding;
	errcode_t error = raw ? holding_begin(options, volume, &holding) : ENOMEM;

	*need = (struct update_need){ 0 };
	for (size_t i = 0; !error && i < plan->count; i++) {
		struct update_action *action = &plan->actions[i];
		const struct update_balance before = need->blocks;
		const struct tree_node *node = &plan->tree->nodes[action->node];
		struct cost cost;

		error = count_taken(plan, format, action, &cost);
		if (error)
			return error;
		take(&need->blocks, cost.blocks);
		take(&need->inodes, cost.inodes);
		if (action->verb != UPDATE_REMOVE && !action->ino)
			entry_bytes += name_bytes(node);
		if (action->ino && action->verb != UPDATE_METADATA)
			error = count_freed(volume, action->ino, action->verb == UPDATE_REPLACE, raw, need);
		uint64_t freed = need->blocks.freed - before.freed;
		uint64_t moved = need->blocks.taken - before.taken + freed;

		holding_add(&holding, cost.blocks, action->verb == UPDATE_REPLACE ? freed : 0);
		action->moved_blocks = moved < UINT32_MAX ? (uint32_t)moved : UINT32_MAX;
	}
	/* Leaves that are split are half full, and each directory may have to begin an index. */
	uint64_t leaves = !plan->count ? 0 : (2 * entry_bytes / format->block_bytes + 2) << format->cluster_bits;

	need->blocks.taken += leaves;
	need->blocks.peak += leaves;
	need->held_inodes = error ? 0 : holding_most(&holding, &need->held_blocks);
	return error;
}

static uint64_t lack_of(const struct update_balance *balance, uint64_t held, uint64_t free_count, uint64_t kept,
                        bool at_once)
{
	uint64_t peak = at_once ? balance->taken : balance->peak + held;
	uint64_t end = balance->taken + kept > balance->freed ? balance->taken + kept - balance->freed : 0;
	uint64_t wanted = peak > end ? peak : end;

	return wanted > free_count ? wanted - free_count : 0;
}

struct update_lack update_need_lack(const struct update_need *need, uint64_t free_blocks, uint64_t free_inodes,
                                    uint64_t kept_blocks, bool at_once)
{
	return (struct update_lack){
		.blocks = lack_of(&need->blocks, need->held_blocks, free_blocks, kept_blocks, at_once),
		.inodes = lack_of(&need->inodes, need->held_inodes, free_inodes, 0, at_once),
	};
}
