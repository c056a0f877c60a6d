/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/apply/placing.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "ondisk/inode_store.h"
#include "ondisk/xattr.h"
#include "support/vector.h"
#include "tree/file_flags.h"
#include "update/apply/parts.h"
#include "update/build/xattr_list.h"
#include "update/target/holding.h"

struct placing {
	struct applying *applying;
	struct update_filesystem *filesystem;
	const struct ondisk_format *format;
	const struct tree_node *node;
	struct placed_inode *placed;
	uint32_t parent; /* the directory's inode */
	uint64_t goal;   /* after the blocks that were taken last for the contents; 0: none were yet */
	uint64_t near;   /* the directory's group */
};

static uint64_t whole_clusters(const struct ondisk_format *format, uint64_t blocks)
{
	uint64_t mask = (UINT64_C(1) << format->cluster_bits) - 1;

	return (blocks + mask) & ~mask;
}

static bool is_protected(const struct placing *placing)
{
	return protected_nodes_has(&placing->applying->plan->protection, placing->placed->node);
}

/* --- Blocks of contents ------------------------------------------------------------------------------------------- */

/*
 * This uses no preallocation. Files that share one would take the long free extents: with preallocations, after 20
 * updates of 1 % of linux-source's files half of the free space was in extents of up to 104 KiB.
 */
static errcode_t take_run(struct placing *placing, uint32_t logical, uint64_t blocks)
{
	struct placed_inode *placed = placing->placed;
	unsigned int bits = placing->format->cluster_bits;
	errcode_t error = 0;

	while (!error && blocks) {
		struct ext2mb_extent extent;

		if (placed->extents.count > placed->extents.final && parts_have_to_end(placing->applying))
			error = parts_end(placing->applying, placed);
		if (!error)
			error = update_filesystem_take(placing->filesystem, placing->goal, placing->near,
			                               whole_clusters(placing->format, blocks), &extent);
		if (error)
			return error;
		uint64_t mapped = extent.count < blocks ? extent.count : blocks;

		placed->clusters += extent.count >> bits;
		error = extent_list_add(&placed->extents, logical, extent.start, mapped);
		placing->goal = extent.start + extent.count;
		logical += (uint32_t)mapped;
		blocks -= mapped;
	}
	return error;
}

static errcode_t take_contents(struct placing *placing)
{
	struct block_runs runs;
	uint32_t logical, blocks;
	errcode_t error = 0;

	if (!S_ISREG(placing->node->mode))
		return take_run(placing, 0, 1);
	protected_nodes_runs(&placing->applying->plan->protection, placing->format, placing->node, &runs);
	while (!error && block_runs_next(&runs, &logical, &blocks))
		error = take_run(placing, logical, blocks);
	return error;
}

static errcode_t take_map(struct placing *placing, const struct extent_list *extents, uint64_t **map_blocks,
                          uint32_t *count)
{
	uint64_t blocks = file_map_blocks(placing->format, extents->extents, extents->count);

	*count = (uint32_t)blocks;
	*map_blocks = NULL;
	if (!blocks)
		return 0;
	*map_blocks = calloc(blocks, sizeof(**map_blocks));
	return *map_blocks ? update_filesystem_take_clusters(placing->filesystem, placing->goal, placing->near,
	                                                     *map_blocks, *count) :
	                     ENOMEM;
}

/* --- Extended attributes ------------------------------------------------------------------------------------------ */

static errcode_t take_value(struct placing *placing, const struct xattr *xattr, struct placed_value *value)
{
	const struct ext2mb_inode_request request = { .struct_bytes = sizeof(request), .parent = placing->parent };
	uint64_t blocks;
	errcode_t error = xattr_value_encode(placing->format, xattr, &value->data, &value->bytes, &value->hash);

	if (!error)
		error = ext2mb_inode_alloc(placing->filesystem->worker, &request, &value->ino);
	if (error)
		return error;
	update_filesystem_touch_inode(placing->filesystem, value->ino);
	blocks = (value->bytes + placing->format->block_bytes - 1) >> placing->format->block_bits;
	for (uint32_t logical = 0; !error && blocks;) {
		struct ext2mb_extent extent;

		error = update_filesystem_take(placing->filesystem, placing->goal, placing->near,
		                               whole_clusters(placing->format, blocks), &extent);
		if (error)
			return error;
		uint64_t mapped = extent.count < blocks ? extent.count : blocks;

		value->clusters += extent.count >> placing->format->cluster_bits;
		error = extent_list_add(&value->extents, logical, extent.start, mapped);
		logical += (uint32_t)mapped;
		blocks -= mapped;
	}
	if (!error)
		error = take_map(placing, &value->extents, &value->map_blocks, &value->map_block_count);
	placing->placed->clusters += value->clusters;
	value->clusters += value->map_block_count;
	return error;
}

static errcode_t take_values(struct placing *placing, struct xattr_list *list)
{
	struct placed_inode *placed = placing->placed;
	uint32_t count = (uint32_t)__builtin_popcountll(list->layout.in_value_inode);
	errcode_t error = 0;

	if (!count)
		return 0;
	placed->values = calloc(count, sizeof(*placed->values));
	if (!placed->values)
		return ENOMEM;
	for (uint32_t i = 0; !error && i < list->count; i++) {
		if (!(list->layout.in_value_inode >> i & 1))
			continue;
		struct placed_value *value = &placed->values[placed->value_count++];

		value->of = i;
		error = take_value(placing, &list->list[i], value);
		list->list[i].value_ino = value->ino;
		list->list[i].value_hash = value->hash;
	}
	return error;
}

static errcode_t take_xattrs(struct placing *placing)
{
	struct placed_inode *placed = placing->placed;
	struct ondisk_format format = *placing->format;
	struct xattr_list list;
	errcode_t error;

	if (placing->node->xattrs == TREE_NO_XATTRS)
		return 0;
	/* Inline data that are already in the inode need its room. */
	if (placed->has_old_inline) {
		format.inode_bytes = EXT2_GOOD_OLD_INODE_SIZE;
		format.extra_isize = 0;
	}
	error = xattr_list_make(placing->applying->plan->tree, placing->node->xattrs, &format, &list);
	placed->layout = list.layout;
	if (!error)
		error = take_values(placing, &list);
	if (!error && list.layout.needs_block) {
		error = update_filesystem_take_clusters(placing->filesystem, placing->goal, placing->near,
		                                        &placed->xattr_block, 1);
		placed->clusters += !error;
	}
	if (error || !list.layout.in_inode)
		return error;
	if (!placed->xattr_area)
		placed->xattr_area = malloc(placing->format->inode_bytes);
	if (!placed->xattr_area)
		return ENOMEM;
	return xattr_encode_inode(placing->format, list.list, list.count, &list.layout, placed->xattr_area);
}

/* --- An inode ----------------------------------------------------------------------------------------------------- */

/*
 * True if the contents are stored in the inode. Symlinks are not: e2fsck 1.47.0 forgets inline symlinks when it counts
 * quotas.
 */
static bool is_inline(const struct placing *placing)
{
	uint64_t bytes = S_ISDIR(placing->node->mode) ? INODE_ROOT_BYTES : placing->node->size_bytes;

	return placing->format->inline_data && bytes && !is_protected(placing) &&
	       (S_ISDIR(placing->node->mode) || S_ISREG(placing->node->mode)) &&
	       bytes <= inline_data_room(placing->format, placing->placed->xattr_area);
}

static bool has_blocks(const struct tree_node *node)
{
	switch (node->mode & S_IFMT) {
	case S_IFREG:
		return node->size_bytes;
	case S_IFLNK:
		return node->size_bytes > INODE_FAST_SYMLINK_BYTES;
	default:
		return S_ISDIR(node->mode);
	}
}

static errcode_t take_inline(struct placing *placing)
{
	struct placed_inode *placed = placing->placed;

	placed->inline_bytes = S_ISDIR(placing->node->mode) ? INODE_ROOT_BYTES : (uint32_t)placing->node->size_bytes;
	placed->inline_data = calloc(1, placing->format->inode_bytes);
	if (placed->xattr_area)
		return placed->inline_data ? 0 : ENOMEM;
	placed->xattr_area = calloc(1, placing->format->inode_bytes);
	return placed->inline_data && placed->xattr_area ? 0 : ENOMEM;
}

static errcode_t take_number(struct placing *placing)
{
	const struct update_action *action = placing->placed->action;
	const struct ext2mb_inode_request request = {
		.struct_bytes = sizeof(request),
		.parent = placing->parent,
		.name = S_ISDIR(placing->node->mode) ? placing->node->name : NULL,
		.flags = S_ISDIR(placing->node->mode) ? EXT2MB_INODE_DIRECTORY : 0,
	};
	SCOPE_FREE uint8_t *raw = malloc(placing->format->inode_bytes);
	struct inode_decoded before;
	errcode_t error = 0;

	if (!raw)
		return ENOMEM;
	if (action->verb == UPDATE_REPLACE)
		placing->placed->ino = action->ino;
	else
		error = ext2mb_inode_alloc(placing->filesystem->worker, &request, &placing->placed->ino);
	if (error)
		return error;
	update_filesystem_touch_inode(placing->filesystem, placing->placed->ino);
	placing->applying->plan->inos[placing->node - placing->applying->plan->tree->nodes] = placing->placed->ino;
	error = inode_store_read(applying_access(placing->applying), placing->placed->ino, raw, &before);
	if (error)
		return error;
	/*
	 * A file that is replaced keeps its generation, so it stays the same file for those who hold it by its number.
	 */
	placing->placed->generation =
		action->verb == UPDATE_REPLACE ? before.value.generation : inode_next_generation(raw);
	return 0;
}

/* Takes what an existing inode needs for its new xattrs. */
static errcode_t take_change(struct placing *placing)
{
	struct placed_inode *placed = placing->placed;
	SCOPE_FREE uint8_t *raw = malloc(placing->format->inode_bytes);
	struct inode_decoded inode;
	errcode_t error;

	if (!raw)
		return ENOMEM;
	placed->ino = placed->action->ino;
	error = inode_store_read(applying_access(placing->applying), placed->ino, raw, &inode);
	placed->has_old_inline = !error && inode.value.flags & EXT4_INLINE_DATA_FL;
	placed->xattr_area = calloc(1, placing->format->inode_bytes);
	if (!error && !placed->xattr_area)
		error = ENOMEM;
	return error ? error : take_xattrs(placing);
}

static errcode_t take_all(struct placing *placing)
{
	struct placed_inode *placed = placing->placed;
	bool may_divide = placing->applying->may_divide && S_ISREG(placing->node->mode) && !is_protected(placing) &&
	                  placing->node->size_bytes >> placing->format->block_bits > HOLDING_LEAST_BLOCKS;
	/* Nothing else of the inode may be committed before it is whole. */
	errcode_t error = may_divide ? take_contents(placing) : 0;

	if (!error)
		error = take_number(placing);
	if (!error)
		error = take_xattrs(placing);
	if (error)
		return error;
	if (is_inline(placing))
		return take_inline(placing);
	if (!has_blocks(placing->node) && !is_protected(placing))
		return 0;
	if (!may_divide)
		error = take_contents(placing);
	if (!error)
		error = take_map(placing, &placed->extents, &placed->map_blocks, &placed->map_block_count);
	placed->clusters += placed->map_block_count;
	return error;
}

/* --- Giving back -------------------------------------------------------------------------------------------------- */

static void give_back_extents(struct placing *placing, const struct extent_list *extents, size_t first)
{
	for (size_t i = first; i < extents->count; i++) {
		errcode_t error = ext2mb_free(placing->filesystem->worker, extents->extents[i].physical,
		                              whole_clusters(placing->format, extents->extents[i].count));

		/*
		 * After an error the clusters stay in use without an owner until e2fsck finds them: nothing better can
		 * be done.
		 */
		(void)error;
	}
}

static void give_back_clusters(struct placing *placing, const uint64_t *blocks, uint32_t count)
{
	for (uint32_t i = 0; i < count && blocks[i]; i++) {
		errcode_t error = ext2mb_free(placing->filesystem->worker, blocks[i],
		                              UINT64_C(1) << placing->format->cluster_bits);

		(void)error;
	}
}

static void give_back_number(struct placing *placing, uint32_t ino, bool is_directory)
{
	errcode_t error = ino ? ext2mb_inode_free(placing->filesystem->worker, ino, is_directory) : 0;

	(void)error;
}

/* What holders have stays theirs: they are orphans, which are released. */
static void give_back(struct placing *placing)
{
	struct placed_inode *placed = placing->placed;
	uint32_t *ino = &placing->applying->plan->inos[placed->node];

	give_back_extents(placing, &placed->extents, placed->extents.final);
	if (placed->map_blocks)
		give_back_clusters(placing, placed->map_blocks, placed->map_block_count);
	give_back_clusters(placing, &placed->xattr_block, 1);
	for (uint32_t i = 0; i < placed->value_count; i++) {
		give_back_extents(placing, &placed->values[i].extents, 0);
		if (placed->values[i].map_blocks)
			give_back_clusters(placing, placed->values[i].map_blocks, placed->values[i].map_block_count);
		give_back_number(placing, placed->values[i].ino, false);
	}
	if (placed->action->verb != UPDATE_CREATE)
		return;
	give_back_number(placing, placed->ino, S_ISDIR(placing->node->mode));
	*ino = 0;
}

void placed_inode_free(struct placed_inode *placed)
{
	for (uint32_t i = 0; i < placed->value_count; i++) {
		free(placed->values[i].data);
		free(placed->values[i].extents.extents);
		free(placed->values[i].map_blocks);
	}
	for (size_t i = 0; i < placed->holder_count; i++)
		free(placed->holders[i].map_blocks);
	free(placed->holders);
	free(placed->values);
	free(placed->extents.extents);
	free(placed->map_blocks);
	free(placed->xattr_area);
	free(placed->inline_data);
}

/* Returns where the inode's group begins. */
static uint64_t group_start(const struct update_filesystem *filesystem, uint32_t parent)
{
	const struct geometry *geometry = &filesystem->volume.geometry;
	uint64_t group = (parent - 1) / geometry->inodes_per_group;

	return geometry->first_block + (group * geometry->clusters_per_group << geometry->cluster_bits);
}

errcode_t place_action(struct applying *applying, const struct update_action *action)
{
	struct update_plan *plan = applying->plan;

	bool is_change = action->verb == UPDATE_METADATA && action->changes_xattrs;

	if (action->verb != UPDATE_CREATE && action->verb != UPDATE_REPLACE && !is_change)
		return 0;
	errcode_t error = vector_reserve(&applying->placed, &applying->placed_capacity, applying->placed_count + 1,
	                                 sizeof(*applying->placed));

	if (error)
		return error;
	const struct tree_node *node = &plan->tree->nodes[action->node];
	struct placed_inode *placed = &applying->placed[applying->placed_count];
	struct placing placing = {
		.applying = applying,
		.filesystem = applying->filesystem,
		.format = applying->format,
		.node = node,
		.placed = placed,
		.parent = is_change ? action->ino : plan->inos[node->parent],
	};

	placing.near = group_start(applying->filesystem, placing.parent);
	*placed = (struct placed_inode){ .action = action, .node = action->node };
	placed->flags = node->has_flags ? node->flags : 0;
	error = is_change ? take_change(&placing) : take_all(&placing);
	if (error) {
		give_back(&placing);
		placed_inode_free(placed);
		return error;
	}
	applying->placed_count++;
	return 0;
}
