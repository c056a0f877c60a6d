/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/apply/new_inode.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "ondisk/directory.h"
#include "ondisk/inode_store.h"
#include "ondisk/owned_inode.h"
#include "tree/details.h"
#include "tree/file_flags.h"
#include "update/apply/inode_parts.h"
#include "update/apply/names.h"
#include "update/apply/parts.h"
#include "update/apply/releasing.h"
#include "update/build/xattr_list.h"

static struct inode_time stored_time(const struct applying *applying, struct tree_time time)
{
	time = update_time(applying->options, time);
	return (struct inode_time){ time.seconds, time.nanoseconds };
}

/* As e2populate does: all of them are mtime, unless they are asked for and known. */
static void set_times(const struct applying *applying, const struct tree_node *node, struct inode_value *value)
{
	const struct tree_detail *detail =
		applying->options->all_times ? tree_detail(applying->plan->tree, node) : &tree_no_detail;
	const struct tree_time mtime = { node->mtime_seconds, node->mtime_nanoseconds, true };

	value->mtime = stored_time(applying, mtime);
	value->atime = stored_time(applying, detail->atime.is_known ? detail->atime : mtime);
	value->ctime = stored_time(applying, detail->ctime.is_known ? detail->ctime : mtime);
	value->crtime = stored_time(applying, detail->crtime.is_known ? detail->crtime : mtime);
}

/* --- Contents ----------------------------------------------------------------------------------------------------- */

/* The content of a directory or symlink, which is one block. */
static errcode_t write_one_block(struct applying *applying, const struct placed_inode *placed, uint32_t directory)
{
	const struct tree_node *node = &applying->plan->tree->nodes[placed->node];
	const struct directory_source source = { .count = 0 };
	SCOPE_FREE uint8_t *bytes = calloc(1, applying->format->block_bytes);
	errcode_t error = bytes ? 0 : ENOMEM;

	if (!error && S_ISDIR(node->mode))
		error = directory_build(applying->format, &source, NULL, 1, placed->ino, directory, placed->generation,
		                        bytes);
	else if (!error)
		memcpy(bytes, node->target, node->size_bytes);
	return error ? error : sink_write(applying_sink(applying), placed->extents.extents[0].physical, 1, bytes);
}

static errcode_t set_inline(struct applying *applying, const struct placed_inode *placed, uint32_t directory,
                            struct inode_value *value)
{
	const struct directory_source source = { .count = 0 };
	errcode_t error = 0;

	if (S_ISDIR(value->mode))
		error = directory_build_inline(applying->format, &source, directory, placed->inline_data,
		                               placed->inline_bytes);
	if (error)
		return error;
	value->flags |= EXT4_INLINE_DATA_FL;
	value->size_bytes = placed->inline_bytes;
	inline_data_encode(applying->format, placed->inline_data, placed->inline_bytes, value->root,
	                   placed->xattr_area);
	return 0;
}

static errcode_t set_contents(struct applying *applying, const struct placed_inode *placed, uint32_t directory,
                              struct inode_value *value)
{
	const struct tree_node *node = &applying->plan->tree->nodes[placed->node];
	errcode_t error = 0;

	if (placed->inline_data)
		return set_inline(applying, placed, directory, value);
	switch (node->mode & S_IFMT) {
	case S_IFREG:
		value->size_bytes = node->size_bytes;
		break;
	case S_IFDIR:
		value->size_bytes = applying->format->block_bytes;
		error = write_one_block(applying, placed, directory);
		break;
	case S_IFLNK:
		value->size_bytes = node->size_bytes;
		if (node->size_bytes <= INODE_FAST_SYMLINK_BYTES) {
			memcpy(value->root, node->target, node->size_bytes);
			return 0;
		}
		error = write_one_block(applying, placed, directory);
		break;
	case S_IFCHR:
	case S_IFBLK:
		inode_root_device(node->device.major, node->device.minor, value->root);
		return 0;
	default:
		return 0;
	}
	return error ? error :
	               inode_parts_write_map(applying, placed->ino, &placed->extents, placed->map_blocks,
	                                     placed->map_block_count, value);
}

/* --- Extended attributes ------------------------------------------------------------------------------------------ */

static errcode_t write_value(struct applying *applying, const struct placed_value *value)
{
	SCOPE_FREE uint8_t *raw = calloc(1, applying->format->inode_bytes);
	uint64_t blocks = (value->bytes + applying->format->block_bytes - 1) >> applying->format->block_bits;
	SCOPE_FREE uint8_t *bytes = calloc(blocks, applying->format->block_bytes);
	struct inode_value inode = {
		.mode = S_IFREG | 0600,
		.links = 1,
		.size_bytes = value->bytes,
		.flags = EXT4_EA_INODE_FL,
		/* Such an inode has no times: they hold its hash, and how many name it. */
		.atime.seconds = (int32_t)value->hash,
		.version = 1,
		.blocks = value->clusters << applying->format->cluster_bits,
	};
	errcode_t error = raw && bytes ? 0 : ENOMEM;

	if (error)
		return error;
	memcpy(bytes, value->data, value->bytes);
	for (size_t i = 0; !error && i < value->extents.count; i++)
		error = sink_write(applying_sink(applying), value->extents.extents[i].physical,
		                   value->extents.extents[i].count,
		                   bytes + ((size_t)value->extents.extents[i].logical << applying->format->block_bits));
	if (!error)
		error = inode_parts_write_map(applying, value->ino, &value->extents, value->map_blocks,
		                              value->map_block_count, &inode);
	if (!error)
		error = inode_encode(applying->format, value->ino, &inode, NULL, raw);
	return error ? error : inode_store_write(applying_access(applying), value->ino, raw);
}

static errcode_t write_xattrs(struct applying *applying, const struct placed_inode *placed)
{
	const struct tree_node *node = &applying->plan->tree->nodes[placed->node];
	SCOPE_FREE uint8_t *bytes = NULL;
	struct xattr_list list;
	errcode_t error = 0;

	for (uint32_t i = 0; !error && i < placed->value_count; i++)
		error = write_value(applying, &placed->values[i]);
	if (error || !placed->xattr_block)
		return error;
	error = xattr_list_make(applying->plan->tree, node->xattrs, applying->format, &list);
	if (error)
		return error;
	list.layout = placed->layout;
	for (uint32_t i = 0; i < placed->value_count; i++) {
		list.list[placed->values[i].of].value_ino = placed->values[i].ino;
		list.list[placed->values[i].of].value_hash = placed->values[i].hash;
	}
	bytes = malloc(applying->format->block_bytes);
	error = bytes ? xattr_encode_block(applying->format, list.list, list.count, &list.layout, placed->xattr_block,
	                                   1, bytes) :
	                ENOMEM;
	return error ? error : sink_write(applying_sink(applying), placed->xattr_block, 1, bytes);
}

/* --- Inodes ------------------------------------------------------------------------------------------------------- */

/* The superblock says which features files use, as it does when the kernel first uses them. */
static void note_features(const struct applying *applying, const struct tree_node *node)
{
	update_filesystem_note(applying->filesystem, node->xattrs != TREE_NO_XATTRS,
	                       S_ISREG(node->mode) && node->size_bytes > INT32_MAX);
}

/* From the directory: its project if it hands that down, and that names are compared without case. */
static errcode_t inherit(struct applying *applying, uint32_t directory, struct inode_value *value)
{
	struct inode_decoded parent;
	errcode_t error = names_inode(applying, directory, &parent);

	if (error)
		return error;
	if (parent.value.flags & EXT4_PROJINHERIT_FL && applying->format->project) {
		value->project = value->project ? value->project : parent.value.project;
		if (S_ISDIR(value->mode))
			value->flags |= EXT4_PROJINHERIT_FL;
	}
	if (S_ISDIR(value->mode) && applying->format->encoding)
		value->flags |= parent.value.flags & EXT4_CASEFOLD_FL;
	return 0;
}

static void describe(const struct applying *applying, const struct tree_node *node, uint32_t flags,
                     struct inode_value *value)
{
	*value = (struct inode_value){
		.mode = node->mode,
		.uid = node->uid,
		.gid = node->gid,
		.project = applying->format->project ? tree_detail(applying->plan->tree, node)->project : 0,
		.flags = flags & FILE_FLAGS_KEPT & file_flags_of_type(node->mode),
	};
	if (S_ISDIR(node->mode) && applying->format->project)
		value->flags |= flags & FILE_FLAGS_OF_PROJECT;
	if (S_ISDIR(node->mode) && applying->format->encoding && node->is_casefolded)
		value->flags |= EXT4_CASEFOLD_FL;
	set_times(applying, node, value);
}

static errcode_t write_inode(struct applying *applying, const struct placed_inode *placed, uint32_t directory,
                             struct inode_value *value)
{
	const struct tree_node *node = &applying->plan->tree->nodes[placed->node];
	SCOPE_FREE uint8_t *raw = calloc(1, applying->format->inode_bytes);
	errcode_t error = raw ? set_contents(applying, placed, directory, value) : ENOMEM;

	if (!error)
		error = write_xattrs(applying, placed);
	if (protected_nodes_has(&applying->plan->protection, placed->node))
		value->flags |= EXT4_VERITY_FL;
	value->xattr_block = placed->xattr_block;
	value->blocks = placed->clusters << applying->format->cluster_bits;
	if (!error)
		error = inode_parts_charge(applying, value, 1 + (int64_t)placed->value_count, (int64_t)value->blocks);
	if (!error)
		error = inode_encode(applying->format, placed->ino, value, placed->xattr_area, raw);
	if (!error)
		error = inode_store_write(applying_access(applying), placed->ino, raw);
	note_features(applying, node);
	return error ? error : parts_join(applying, placed);
}

errcode_t new_inode_write(struct applying *applying, const struct placed_inode *placed, uint32_t directory)
{
	const struct tree_node *node = &applying->plan->tree->nodes[placed->node];
	struct inode_value value;

	describe(applying, node, placed->flags, &value);
	value.links = S_ISDIR(node->mode) ? 2 : 1;
	value.generation = placed->generation;
	errcode_t error = inherit(applying, directory, &value);

	return error ? error : write_inode(applying, placed, directory, &value);
}

errcode_t new_inode_replace(struct applying *applying, const struct placed_inode *placed)
{
	const struct tree_node *node = &applying->plan->tree->nodes[placed->node];
	SCOPE_FREE uint8_t *raw = malloc(applying->format->inode_bytes);
	struct inode_decoded before;
	struct inode_value value;
	errcode_t error = raw ? inode_store_read(applying_access(applying), placed->ino, raw, &before) : ENOMEM;

	if (!error)
		error = release_contents(applying, placed->ino);
	if (error)
		return error;
	describe(applying, node, placed->flags, &value);
	value.links = before.value.links;
	value.generation = placed->generation;
	value.crtime = before.has_crtime ? before.value.crtime : value.crtime;
	if (!value.project)
		value.project = before.value.project;
	return write_inode(applying, placed, 0, &value);
}

/* All but what the inode's contents decide. */
static void change_attributes(const struct applying *applying, const struct tree_node *node, struct inode_value *value)
{
	uint32_t kept = FILE_FLAGS_KEPT & file_flags_of_type(node->mode);
	struct inode_value wanted;

	describe(applying, node, node->has_flags ? node->flags : value->flags, &wanted);
	value->mode = wanted.mode;
	value->uid = wanted.uid;
	value->gid = wanted.gid;
	value->mtime = wanted.mtime;
	value->ctime = wanted.ctime;
	value->flags = (value->flags & ~kept) | (wanted.flags & kept);
	if (wanted.project)
		value->project = wanted.project;
}

/*
 * The inode's data stay in it, and its new xattrs have a block. It keeps its extra fields, which may be more or fewer
 * than new inodes get: with other ones there may be too little room.
 */
static errcode_t keep_inline(const struct applying *applying, uint32_t ino, const struct inode_decoded *inode,
                             uint8_t *raw)
{
	SCOPE_FREE uint8_t *data = malloc(INODE_ROOT_BYTES + (size_t)applying->format->inode_bytes);
	SCOPE_FREE uint8_t *area = calloc(1, applying->format->inode_bytes);
	struct inode_decoded changed = *inode;
	struct ondisk_format own = *applying->format;
	struct inode_view view;
	size_t rest;

	if (!data || !area)
		return ENOMEM;
	own.extra_isize = inode->extra_isize;
	inode_view_read(applying->format, raw, &view);
	const uint8_t *more = inode_view_inline_rest(applying->format, raw, &rest);

	if (!more || !own.extra_isize || INODE_ROOT_BYTES + rest > inline_data_room(&own, area))
		return EUCLEAN;
	memcpy(data, view.root, INODE_ROOT_BYTES);
	memcpy(data + INODE_ROOT_BYTES, more, rest);
	inline_data_encode(&own, data, INODE_ROOT_BYTES + (uint32_t)rest, changed.value.root, area);
	return inode_change_area(applying->format, ino, &changed, area, raw);
}

/* The inode without its xattrs, which have been released. */
static errcode_t write_changed(struct applying *applying, const struct placed_inode *placed, uint8_t *raw,
                               struct inode_decoded *inode)
{
	SCOPE_FREE uint8_t *bytes = calloc(1, applying->format->inode_bytes);
	struct inode_value *value = &inode->value;
	errcode_t error = bytes ? write_xattrs(applying, placed) : ENOMEM;

	value->xattr_block = placed->xattr_block;
	value->blocks += placed->clusters << applying->format->cluster_bits;
	if (!error)
		error = inode_parts_charge(applying, value, 1 + (int64_t)placed->value_count, (int64_t)value->blocks);
	if (!error && value->flags & EXT4_INLINE_DATA_FL) {
		error = keep_inline(applying, placed->ino, inode, raw);
		return error ? error : inode_store_write(applying_access(applying), placed->ino, raw);
	}
	if (!error)
		error = inode_encode(applying->format, placed->ino, value, placed->xattr_area, bytes);
	return error ? error : inode_store_write(applying_access(applying), placed->ino, bytes);
}

static errcode_t change_xattrs(struct applying *applying, const struct placed_inode *placed)
{
	const struct tree_node *node = &applying->plan->tree->nodes[placed->node];
	SCOPE_FREE uint8_t *raw = malloc(applying->format->inode_bytes);
	struct inode_decoded inode;
	errcode_t error = raw ? 0 : ENOMEM;

	if (!error && S_ISDIR(node->mode))
		error = names_settle(applying, placed->ino);
	if (!error)
		error = inode_release_xattrs(&applying->filesystem->release, placed->ino);
	if (!error)
		error = inode_store_read(applying_access(applying), placed->ino, raw, &inode);
	if (error)
		return error;
	change_attributes(applying, node, &inode.value);
	note_features(applying, node);
	return write_changed(applying, placed, raw, &inode);
}

/* An owner is charged for the inodes of xattrs' values, too. */
static errcode_t count_inodes(struct applying *applying, uint32_t ino, int64_t *inodes)
{
	SCOPE_OWNED struct owned_inode owned = { 0 };

	*inodes = 1;
	if (!applying->format->ea_inode)
		return 0;
	errcode_t error = owned_inode_read(applying_access(applying), ino, &owned);

	if (!error)
		*inodes += (int64_t)owned.value_count;
	return error;
}

/* What the inode has is another owner's from now on. */
static errcode_t move_charge(struct applying *applying, uint32_t ino, const struct inode_value *before,
                             const struct inode_value *now)
{
	bool is_same = before->uid == now->uid && before->gid == now->gid && before->project == now->project;
	int64_t inodes;

	if (is_same || !applying->filesystem->release.changes)
		return 0;
	errcode_t error = count_inodes(applying, ino, &inodes);

	if (!error)
		error = inode_parts_charge(applying, before, -inodes, -(int64_t)before->blocks);
	return error ? error : inode_parts_charge(applying, now, inodes, (int64_t)now->blocks);
}

errcode_t new_inode_change(struct applying *applying, const struct update_action *action,
                           const struct placed_inode *placed)
{
	const struct tree_node *node = &applying->plan->tree->nodes[action->node];
	SCOPE_FREE uint8_t *raw = malloc(applying->format->inode_bytes);
	struct inode_decoded inode;

	if (placed)
		return change_xattrs(applying, placed);
	errcode_t error = raw ? inode_store_read(applying_access(applying), action->ino, raw, &inode) : ENOMEM;

	if (error)
		return error;
	const struct inode_value before = inode.value;

	change_attributes(applying, node, &inode.value);
	error = move_charge(applying, action->ino, &before, &inode.value);
	return error ? error : inode_store_change(applying_access(applying), action->ino, &inode);
}
