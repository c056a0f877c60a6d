/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/apply/releasing.h"

#include <errno.h>
#include <sys/stat.h>

#include "ondisk/inode_store.h"
#include "update/apply/inode_parts.h"
#include "update/target/holding.h"
#include "update/target/orphans.h"

/*
 * True if the inode's blocks lie in more groups than the log has room for, beside what it has already and what the
 * batch needs anyway. Reads the map only if that is possible.
 */
static errcode_t is_too_large(struct applying *applying, uint32_t ino, const struct inode_value *value, bool *is_large)
{
	const struct update_filesystem *filesystem = applying->filesystem;
	const uint64_t all_groups = filesystem->volume.geometry.groups;
	uint64_t groups = value->blocks < all_groups ? value->blocks : all_groups;
	uint64_t used = update_filesystem_log_blocks(filesystem) + applying->reserved_blocks;
	uint64_t room = update_filesystem_log_room(filesystem), most = orphans_most_logged(filesystem);
	struct inode_release_need need;

	most = used + most > room ? room - (used < room ? used : room) : most;
	*is_large = false;
	if (applying->options->is_atomic || value->blocks <= HOLDING_LEAST_BLOCKS ||
	    all_groups <= orphans_most_groups(filesystem) || groups <= orphans_groups_in(most))
		return 0;
	errcode_t error = inode_release_measure(&applying->filesystem->release, ino, &need);

	*is_large = !error && need.log_blocks > most;
	return error;
}

/* Reads an inode that is to be released, and judges it. */
static errcode_t read_released(struct applying *applying, uint32_t ino, struct inode_decoded *inode, bool *is_large)
{
	SCOPE_FREE uint8_t *raw = malloc(applying->format->inode_bytes);
	errcode_t error = raw ? inode_store_read(applying_access(applying), ino, raw, inode) : ENOMEM;

	return error ? error : is_too_large(applying, ino, &inode->value, is_large);
}

/* --- Holders ------------------------------------------------------------------------------------------------------ */

static errcode_t write_holder(struct applying *applying, const struct extent_list *extents,
                              const struct inode_value *owner, const struct holder *holder)
{
	SCOPE_FREE uint8_t *raw = calloc(1, applying->format->inode_bytes);
	const struct file_extent *last = extents->count ? &extents->extents[extents->count - 1] : NULL;
	struct inode_decoded before;
	struct inode_value value = {
		.mode = S_IFREG | 0600,
		.uid = owner->uid,
		.gid = owner->gid,
		.project = owner->project,
		.size_bytes = last ? ((uint64_t)last->logical + last->count) << applying->format->block_bits : 0,
		.blocks = holder->blocks,
	};
	errcode_t error = raw ? inode_store_read(applying_access(applying), holder->ino, raw, &before) : ENOMEM;

	if (error)
		return error;
	value.generation = inode_next_generation(raw);
	error = inode_parts_write_map(applying, holder->ino, extents, holder->map_blocks, holder->map_block_count,
	                              &value);
	if (!error)
		error = inode_encode(applying->format, holder->ino, &value, NULL, raw);
	return error ? error : inode_store_write(applying_access(applying), holder->ino, raw);
}

static uint64_t blocks_of(const struct ondisk_format *format, const struct extent_list *extents)
{
	uint64_t mask = (UINT64_C(1) << format->cluster_bits) - 1, blocks = 0;

	for (size_t i = 0; i < extents->count; i++)
		blocks += (extents->extents[i].count + mask) & ~mask;
	return blocks;
}

/* Otherwise a commit would make a leak of them: the update goes on if there was only too little space. */
static void give_back(struct applying *applying, const struct holder *holder)
{
	const uint64_t cluster = UINT64_C(1) << applying->format->cluster_bits;
	errcode_t error = ext2mb_inode_free(applying->filesystem->worker, holder->ino, false);

	for (uint32_t i = 0; !error && i < holder->map_block_count && holder->map_blocks[i]; i++)
		error = ext2mb_free(applying->filesystem->worker, holder->map_blocks[i], cluster);
	(void)error;
}

errcode_t holder_make(struct applying *applying, const struct inode_value *owner, const struct extent_list *extents,
                      struct holder *holder)
{
	struct update_filesystem *filesystem = applying->filesystem;
	const struct ext2mb_inode_request request = { .struct_bytes = sizeof(request), .parent = EXT2_ROOT_INO };
	uint32_t count = (uint32_t)file_map_blocks(applying->format, extents->extents, extents->count);

	*holder = (struct holder){ .map_block_count = count, .map_blocks = calloc(count + 1ul, sizeof(uint64_t)) };
	errcode_t error = holder->map_blocks ? ext2mb_inode_alloc(filesystem->worker, &request, &holder->ino) : ENOMEM;

	if (error)
		return error;
	update_filesystem_touch_inode(filesystem, holder->ino);
	error = update_filesystem_take_clusters(filesystem, 0, applying->filesystem->volume.geometry.first_block,
	                                        holder->map_blocks, count);
	if (error) {
		give_back(applying, holder);
		return error;
	}
	holder->blocks = blocks_of(applying->format, extents) + ((uint64_t)count << applying->format->cluster_bits);
	error = write_holder(applying, extents, owner, holder);
	if (!error)
		error = inode_parts_charge(applying, owner, 1, (int64_t)holder->blocks);
	return error ? error : orphans_add(filesystem, holder->ino);
}

errcode_t holder_drop(struct applying *applying, const struct holder *holder)
{
	struct block_access *access = applying_access(applying);
	SCOPE_FREE uint8_t *raw = malloc(applying->format->inode_bytes);
	struct inode_decoded inode;
	errcode_t error = raw ? inode_store_read(access, holder->ino, raw, &inode) : ENOMEM;

	for (uint32_t i = 0; !error && i < holder->map_block_count; i++)
		error = access->free(access, holder->map_blocks[i], UINT64_C(1) << applying->format->cluster_bits);
	if (!error)
		error = inode_parts_charge(applying, &inode.value, 0, -(int64_t)holder->blocks);
	if (error)
		return error;
	/* An empty file is deleted. */
	inode.value.size_bytes = 0;
	inode.value.blocks = 0;
	error = file_map_build(applying->format, holder->ino, inode.value.generation, NULL, 0, NULL, inode.value.root,
	                       NULL);
	if (!error)
		error = inode_store_change(access, holder->ino, &inode);
	if (!error)
		error = inode_release_delete(&applying->filesystem->release, holder->ino);
	return error ? error : orphans_remove(applying->filesystem, holder->ino);
}

/* --- Dropping ----------------------------------------------------------------------------------------------------- */

static errcode_t make_orphan(struct applying *applying, uint32_t ino, struct inode_decoded *inode)
{
	inode->value.links = 0;
	errcode_t error = inode_store_change(applying_access(applying), ino, inode);

	return error ? error : orphans_add(applying->filesystem, ino);
}

errcode_t release_inode(struct applying *applying, uint32_t ino)
{
	struct inode_decoded inode;
	bool is_large;
	errcode_t error = read_released(applying, ino, &inode, &is_large);

	if (!error && is_large)
		return make_orphan(applying, ino, &inode);
	return error ? error : inode_release_delete(&applying->filesystem->release, ino);
}

/* The blocks as the contents of a file without holes. */
static errcode_t list_extents(const struct block_list *blocks, struct extent_list *extents)
{
	uint32_t logical = 0;
	errcode_t error = 0;

	for (size_t i = 0; !error && i < blocks->count; i++) {
		error = extent_list_add(extents, logical, blocks->spans[i].start, blocks->spans[i].count);
		logical += (uint32_t)blocks->spans[i].count;
	}
	return error;
}

static errcode_t hold_contents(struct applying *applying, uint32_t ino, const struct inode_value *owner)
{
	struct block_list blocks = { 0 };
	struct extent_list extents = { 0 };
	struct holder holder = { 0 };
	errcode_t error = inode_release_take(&applying->filesystem->release, ino, &blocks);

	if (!error)
		error = list_extents(&blocks, &extents);
	if (!error)
		error = holder_make(applying, owner, &extents, &holder);
	free(holder.map_blocks);
	free(extents.extents);
	block_list_free(&blocks);
	return error;
}

errcode_t release_contents(struct applying *applying, uint32_t ino)
{
	struct inode_decoded inode;
	bool is_large;
	errcode_t error = read_released(applying, ino, &inode, &is_large);

	if (!error && is_large)
		return hold_contents(applying, ino, &inode.value);
	return error ? error : inode_release_contents(&applying->filesystem->release, ino);
}
