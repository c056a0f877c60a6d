/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ondisk/owned_inode.h"

#include <errno.h>
#include <sys/stat.h>

#include <ext2fs/ext2fs.h>

#include "ext2fs/ext2mb_err.h"
#include "ondisk/inode_store.h"
#include "ondisk/xattr_read.h"
#include "support/vector.h"

void owned_inode_free(struct owned_inode *owned)
{
	block_list_free(&owned->blocks);
	free(TAKE(owned->xattr_bytes));
	free(TAKE(owned->values));
}

/* Whatever is damaged cannot be released. */
static errcode_t damage(errcode_t error)
{
	return error == EUCLEAN || error == EXT2_ET_BAD_INODE_NUM || error == EXT2_ET_INODE_CSUM_INVALID ?
	               EXT2MB_ET_ORPHAN_INODE :
	               error;
}

static errcode_t add_value(struct owned_inode *owned, uint32_t ino, bool is_in_block)
{
	errcode_t error =
		vector_reserve(&owned->values, &owned->value_capacity, owned->value_count + 1, sizeof(*owned->values));

	if (!error)
		owned->values[owned->value_count++] = (struct owned_value){ .ino = ino, .is_in_block = is_in_block };
	return error;
}

static errcode_t read_entries(struct owned_inode *owned, struct xattr_cursor *cursor, bool is_in_block)
{
	struct xattr_entry entry;
	errcode_t error = 0;

	while (!error && xattr_entries_next(cursor, &entry))
		if (entry.value_ino)
			error = add_value(owned, entry.value_ino, is_in_block);
	return error ? error : cursor->is_damaged ? EUCLEAN : 0;
}

static errcode_t read_xattr_block(struct block_access *access, struct owned_inode *owned)
{
	uint64_t block = owned->inode.value.xattr_block;
	struct xattr_cursor cursor;

	if (!block)
		return 0;
	if (!block_access_may_own(access, block, 1))
		return EUCLEAN;
	owned->xattr_bytes = malloc(access->format->block_bytes);
	if (!owned->xattr_bytes)
		return ENOMEM;
	errcode_t error = access->read(access, block, owned->xattr_bytes);

	if (error)
		return error;
	if (xattr_start_block(access->format, block, owned->xattr_bytes, &cursor))
		return EUCLEAN;
	owned->xattr_references = xattr_block_references(owned->xattr_bytes);
	if (!owned->xattr_references)
		return EUCLEAN;
	if (owned->xattr_references == 1)
		error = block_list_add(&owned->blocks, access->format, access->first_block, block, 1);
	return error ? error : read_entries(owned, &cursor, true);
}

errcode_t owned_inode_read_value(struct block_access *access, uint32_t ino, struct owned_inode *owned)
{
	SCOPE_FREE void *raw = malloc(access->format->inode_bytes);

	if (!raw)
		return ENOMEM;
	owned->ino = ino;
	errcode_t error = inode_store_read(access, ino, raw, &owned->inode);
	const struct inode_value *value = &owned->inode.value;

	if (!error &&
	    (!S_ISREG(value->mode) || !(value->flags & EXT4_EA_INODE_FL) || !value->links || value->xattr_block))
		error = EUCLEAN;
	if (!error)
		error = map_collect(access, ino, &owned->inode, &owned->blocks);
	return damage(error);
}

/* Each value's inode is one, and counts at least those references that are to be dropped. */
static errcode_t check_value(struct block_access *access, struct owned_inode *owned, struct owned_value *value)
{
	SCOPE_OWNED struct owned_inode of_value = { 0 };
	uint64_t dropped = 0;
	errcode_t error = owned_inode_read_value(access, value->ino, &of_value);

	if (error)
		return error;
	value->is_of_lustre = xattr_value_is_of_lustre(&of_value.inode, owned->ino, owned->inode.value.generation);
	for (size_t index = 0; index < owned->value_count; index++)
		dropped += owned->values[index].ino == value->ino;
	return value->ino != owned->ino &&
	                       dropped <= (value->is_of_lustre ? 1 : xattr_value_references(&of_value.inode)) ?
	               0 :
	               EUCLEAN;
}

static errcode_t read_all(struct block_access *access, void *raw, struct owned_inode *owned)
{
	errcode_t error = inode_store_read(access, owned->ino, raw, &owned->inode);

	if (error)
		return error;
	struct xattr_cursor cursor = xattr_start_inode(access->format, raw);

	if (access->format->ea_inode)
		error = read_entries(owned, &cursor, false);
	if (!error)
		error = read_xattr_block(access, owned);
	for (size_t index = 0; !error && index < owned->value_count; index++)
		error = check_value(access, owned, &owned->values[index]);
	return error ? error : map_collect(access, owned->ino, &owned->inode, &owned->blocks);
}

errcode_t owned_inode_read(struct block_access *access, uint32_t ino, struct owned_inode *owned)
{
	SCOPE_FREE void *raw = malloc(access->format->inode_bytes);

	if (!raw)
		return ENOMEM;
	owned->ino = ino;
	return damage(read_all(access, raw, owned));
}

/* --- the end of the contents ------------------------------------------------------------------------------------- */

struct logical_run {
	uint64_t logical, physical, count;
};

struct run_list {
	struct map_scan scan;
	struct logical_run *runs;
	size_t count, capacity;
};

static errcode_t add_run(struct map_scan *scan, uint64_t logical, uint64_t physical, uint32_t count, bool is_unwritten)
{
	struct run_list *list = (struct run_list *)scan;
	errcode_t error = vector_reserve(&list->runs, &list->capacity, list->count + 1, sizeof(*list->runs));

	(void)is_unwritten;
	if (!error)
		list->runs[list->count++] = (struct logical_run){ logical, physical, count };
	return error;
}

static errcode_t no_map_block(struct map_scan *scan, uint64_t block)
{
	(void)scan, (void)block;
	return 0;
}

/* From the end on, a part of one group after the other. */
static uint64_t find_tail(const struct block_access *access, const struct run_list *list, uint64_t most_groups)
{
	uint64_t group_blocks = access->blocks_per_group;
	uint64_t group = UINT64_MAX, groups = 0;

	for (size_t index = list->count; index-- > 0;) {
		const struct logical_run *run = &list->runs[index];

		for (uint64_t end = run->count; end;) {
			uint64_t last = run->physical + end - 1 - access->first_block;
			uint64_t in_group = last % group_blocks + 1;

			if (last / group_blocks != group && ++groups > most_groups)
				return run->logical + end;
			group = last / group_blocks;
			end -= in_group < end ? in_group : end;
		}
	}
	return 0;
}

errcode_t owned_inode_tail(struct block_access *access, const struct owned_inode *owned, uint64_t most_groups,
                           uint64_t *first)
{
	struct run_list list = { .scan = { .access = access, .extent = add_run, .map_block = no_map_block } };
	errcode_t error = map_scan(&list.scan, owned->ino, &owned->inode);

	*first = error ? 0 : find_tail(access, &list, most_groups);
	free(list.runs);
	return damage(error);
}
