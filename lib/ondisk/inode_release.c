/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/inode_release.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "ondisk/inode_store.h"
#include "ondisk/owned_inode.h"

static errcode_t free_list(struct inode_release *release, const struct block_list *list)
{
	struct block_access *access = release->access;
	errcode_t error = 0;

	for (size_t index = 0; !error && index < list->count; index++)
		error = access->free(access, list->spans[index].start, list->spans[index].count);
	if (!error)
		release->blocks += list->blocks;
	return error;
}

static errcode_t charge(struct inode_release *release, const struct owned_inode *owned, int64_t inodes, uint64_t blocks)
{
	if (!release->changes)
		return 0;
	return quota_changes_charge(release->changes, release->access->format, &owned->inode.value, inodes,
	                            -(int64_t)blocks);
}

/* The inode as deleted; what it owned has gone free. Its xattrs stay, as those that the kernel deletes. */
static errcode_t write_deleted(struct inode_release *release, uint32_t ino, const struct inode_decoded *inode)
{
	struct inode_decoded deleted = *inode;
	struct inode_value *value = &deleted.value;

	deleted.deletion_time = release->now;
	value->links = 0;
	value->size_bytes = 0;
	value->blocks = 0;
	value->xattr_block = 0;
	value->flags &= ~(uint32_t)EXT4_INLINE_DATA_FL;
	memset(value->root, 0, sizeof(value->root));
	errcode_t error = 0;

	/* An empty map; the root of an indirect one is zeros. */
	if (value->flags & EXT4_EXTENTS_FL)
		error = file_map_build(release->access->format, ino, value->generation, NULL, 0, NULL, value->root,
		                       NULL);
	if (!error)
		error = inode_store_change(release->access, ino, &deleted);
	if (!error)
		error = release->access->free_inode(release->access, ino, S_ISDIR(value->mode));
	if (!error)
		release->inodes++;
	return error;
}

/* One reference less to the inode of an xattr's value. */
static errcode_t drop_value(struct inode_release *release, const struct owned_value *owned)
{
	SCOPE_OWNED struct owned_inode value = { 0 };
	errcode_t error = owned_inode_read_value(release->access, owned->ino, &value);

	if (error)
		return error;
	uint64_t references = owned->is_of_lustre ? 1 : xattr_value_references(&value.inode);

	if (references > 1) {
		xattr_value_set_references(&value.inode, references - 1);
		return inode_store_change(release->access, owned->ino, &value.inode);
	}
	error = free_list(release, &value.blocks);
	return error ? error : write_deleted(release, owned->ino, &value.inode);
}

/* References to values, and to an xattr block that others refer to as well. */
static errcode_t drop_shared(struct inode_release *release, struct owned_inode *owned)
{
	struct block_access *access = release->access;
	uint64_t xattr_block = owned->inode.value.xattr_block;
	errcode_t error = 0;

	for (size_t index = 0; !error && index < owned->value_count; index++)
		if (!owned->values[index].is_in_block || owned->xattr_references == 1)
			error = drop_value(release, &owned->values[index]);
	if (!error && xattr_block && owned->xattr_references > 1) {
		xattr_block_set_references(access->format, xattr_block, owned->xattr_references - 1,
		                           owned->xattr_bytes);
		error = access->write(access, xattr_block, owned->xattr_bytes);
	}
	return error;
}

/* What the inode refers to goes free, and its charge is taken back. */
static errcode_t drop_contents(struct inode_release *release, struct owned_inode *owned)
{
	errcode_t error = drop_shared(release, owned);

	if (!error)
		error = free_list(release, &owned->blocks);
	return error ? error : charge(release, owned, -1 - (int64_t)owned->value_count, owned->inode.value.blocks);
}

static errcode_t check_in_use(struct block_access *access, ext2_ino_t ino)
{
	bool is_in_use = false;
	errcode_t error = access->query_inode(access, ino, &is_in_use);

	return error == EXT2MB_ET_BAD_RANGE || (!error && !is_in_use) ? EXT2MB_ET_ORPHAN_INODE : error;
}

static errcode_t enter(struct inode_release *release, ext2_ino_t ino, struct owned_inode *owned)
{
	errcode_t error = check_in_use(release->access, ino);

	return error ? error : owned_inode_read(release->access, ino, owned);
}

errcode_t inode_release_delete(struct inode_release *release, ext2_ino_t ino)
{
	SCOPE_OWNED struct owned_inode owned = { 0 };
	errcode_t error = enter(release, ino, &owned);

	if (!error)
		error = drop_contents(release, &owned);
	return error ? error : write_deleted(release, ino, &owned.inode);
}

errcode_t inode_release_take(struct inode_release *release, ext2_ino_t ino, struct block_list *blocks)
{
	SCOPE_OWNED struct owned_inode owned = { 0 };
	errcode_t error = enter(release, ino, &owned);

	if (!error)
		error = drop_shared(release, &owned);
	if (error)
		return error;
	*blocks = owned.blocks;
	owned.blocks = (struct block_list){ 0 };
	return charge(release, &owned, -1 - (int64_t)owned.value_count, owned.inode.value.blocks);
}

errcode_t inode_release_contents(struct inode_release *release, ext2_ino_t ino)
{
	SCOPE_OWNED struct owned_inode owned = { 0 };
	errcode_t error = enter(release, ino, &owned);

	return error ? error : drop_contents(release, &owned);
}

/* Values count for the inode in whole clusters, as if they were its own. */
static errcode_t count_xattr_blocks(struct inode_release *release, const struct owned_inode *owned, uint64_t *blocks)
{
	const struct ondisk_format *format = release->access->format;
	unsigned int bits = format->block_bits + format->cluster_bits;

	*blocks = owned->inode.value.xattr_block ? UINT64_C(1) << format->cluster_bits : 0;
	for (size_t index = 0; index < owned->value_count; index++) {
		SCOPE_OWNED struct owned_inode value = { 0 };
		errcode_t error = owned_inode_read_value(release->access, owned->values[index].ino, &value);

		if (error)
			return error;
		uint64_t bytes = value.inode.value.size_bytes;

		*blocks += ((bytes >> bits) + !!(bytes & ((UINT64_C(1) << bits) - 1))) << format->cluster_bits;
	}
	return 0;
}

static errcode_t free_xattr_block(struct inode_release *release, const struct owned_inode *owned)
{
	const struct ondisk_format *format = release->access->format;
	struct block_list list = { 0 };
	errcode_t error = 0;

	if (!owned->inode.value.xattr_block || owned->xattr_references > 1)
		return 0;
	error = block_list_add(&list, format, release->access->first_block, owned->inode.value.xattr_block, 1);
	if (!error)
		error = block_list_finish(&list, format);
	if (!error)
		error = free_list(release, &list);
	block_list_free(&list);
	return error;
}

errcode_t inode_release_xattrs(struct inode_release *release, ext2_ino_t ino)
{
	SCOPE_OWNED struct owned_inode owned = { 0 };
	uint64_t blocks;
	/* Also of the root, which cannot go free. */
	errcode_t error = owned_inode_read(release->access, ino, &owned);

	if (!error)
		error = count_xattr_blocks(release, &owned, &blocks);
	if (!error)
		error = charge(release, &owned, -1 - (int64_t)owned.value_count, owned.inode.value.blocks);
	if (!error)
		error = drop_shared(release, &owned);
	if (!error)
		error = free_xattr_block(release, &owned);
	if (error)
		return error;
	owned.inode.value.xattr_block = 0;
	owned.inode.value.blocks -= blocks < owned.inode.value.blocks ? blocks : owned.inode.value.blocks;
	return inode_store_change(release->access, ino, &owned.inode);
}

/* --- parts of the contents ---------------------------------------------------------------------------------------- */

/* Cuts the map off, frees what followed and writes the inode. */
static errcode_t cut_off(struct inode_release *release, struct owned_inode *owned, uint64_t first)
{
	const struct inode_decoded before = owned->inode;
	struct block_list freed = { 0 };
	errcode_t error = map_cut(release->access, owned->ino, &owned->inode, first, &freed);

	if (!error)
		error = free_list(release, &freed);
	block_list_free(&freed);
	if (!error)
		error = charge(release, owned, 0, before.value.blocks - owned->inode.value.blocks);
	return error ? error : inode_store_change(release->access, owned->ino, &owned->inode);
}

/* Zeros the rest of the last block, as the kernel does, so that old data does not reappear when the file grows. */
static errcode_t clear_last_block(struct inode_release *release, const struct owned_inode *owned)
{
	struct block_access *access = release->access;
	const struct inode_value *value = &owned->inode.value;
	const struct ondisk_format *format = access->format;
	uint32_t used_bytes = (uint32_t)(value->size_bytes & (format->block_bytes - 1));
	uint64_t physical;

	/* An encrypted block cannot be zeroed without its key. */
	if (!used_bytes || !S_ISREG(value->mode) || value->flags & EXT4_ENCRYPT_FL)
		return 0;
	errcode_t error =
		map_find(access, owned->ino, &owned->inode, value->size_bytes >> format->block_bits, &physical);

	if (error || !physical)
		return error;
	SCOPE_FREE uint8_t *bytes = malloc(format->block_bytes);

	if (!bytes)
		return ENOMEM;
	error = access->read(access, physical, bytes);
	if (error)
		return error;
	uint32_t rest = format->block_bytes - used_bytes;
	uint8_t *at = bytes + used_bytes;

	if (!*at && !memcmp(at, at + 1, rest - 1))
		return 0;
	memset(at, 0, rest);
	return access->write(access, physical, bytes);
}

errcode_t inode_release_truncate(struct inode_release *release, ext2_ino_t ino)
{
	SCOPE_OWNED struct owned_inode owned = { 0 };
	const struct ondisk_format *format = release->access->format;
	errcode_t error = enter(release, ino, &owned);

	if (error || !map_is_in_inode(&owned.inode) || owned.inode.value.flags & EXT4_VERITY_FL)
		return error;
	uint64_t first = (owned.inode.value.size_bytes >> format->block_bits) +
	                 !!(owned.inode.value.size_bytes & (format->block_bytes - 1));

	error = cut_off(release, &owned, first);
	return error ? error : clear_last_block(release, &owned);
}

errcode_t inode_release_shorten(struct inode_release *release, ext2_ino_t ino, uint64_t most_groups, bool *is_done)
{
	SCOPE_OWNED struct owned_inode owned = { 0 };
	uint64_t first;
	errcode_t error = enter(release, ino, &owned);

	*is_done = true;
	if (!error)
		error = owned_inode_tail(release->access, &owned, most_groups, &first);
	if (error || !first)
		return error;
	*is_done = false;
	return cut_off(release, &owned, first);
}

errcode_t inode_release_measure(struct inode_release *release, ext2_ino_t ino, struct inode_release_need *need)
{
	SCOPE_OWNED struct owned_inode owned = { 0 };
	const struct block_access *access = release->access;
	errcode_t error = enter(release, ino, &owned);

	if (error)
		return error;
	*need = (struct inode_release_need){
		.blocks = owned.blocks.blocks,
		.groups = block_list_groups(&owned.blocks, access->first_block, access->blocks_per_group),
	};
	/* Each group has a bitmap, and a descriptor in a block of its own at worst. The others are: the inode, its
	 * bitmap and descriptor; the xattr block; superblock and orphan file. */
	need->log_blocks = 2 * need->groups + 6;
	for (size_t index = 0; index < owned.value_count; index++) {
		SCOPE_OWNED struct owned_inode value = { 0 };

		error = owned_inode_read_value(release->access, owned.values[index].ino, &value);
		if (error)
			return error;
		need->log_blocks +=
			3 + 2 * block_list_groups(&value.blocks, access->first_block, access->blocks_per_group);
	}
	if (release->changes) {
		struct quota_changes changes = { 0 };

		error = quota_changes_charge(&changes, release->access->format, &owned.inode.value, -1, 0);
		need->log_blocks += quota_changes_most_blocks(&changes);
		quota_changes_free(&changes);
	}
	return error;
}
