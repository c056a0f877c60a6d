/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/group/inode_group.h"

#include <errno.h>

#include "allocator/fs/fs_state.h"
#include "allocator/group/totals.h"
#include "support/bits.h"

errcode_t inode_group_load(struct ext2mb *mb, uint32_t number)
{
	struct inode_group *inodes = &mb->groups[number].inodes;

	if (inodes->state == GROUP_LOADED)
		return 0;
	if (inodes->state == GROUP_CORRUPT)
		return EXT2MB_ET_CORRUPT_GROUP;

	uint64_t *bitmap = malloc(bits_words(mb->geometry.inodes_per_group) * sizeof(*bitmap));
	if (!bitmap)
		return ENOMEM;
	errcode_t error = fs_state_read_inodes(mb->fs_state, number, bitmap);
	if (error) {
		free(bitmap);
		if (error != ENOMEM) {
			inodes->state = GROUP_CORRUPT;
			totals_lose_group(mb, number, 0, inode_group_free(mb, number));
			atomic_store_explicit(&inodes->free_inodes, 0, memory_order_relaxed);
		}
		return error;
	}
	inodes->bitmap = bitmap;
	inodes->first_free = bits_next_zero(bitmap, 0, mb->geometry.inodes_per_group);
	inodes->state = GROUP_LOADED;
	return 0;
}

errcode_t inode_group_enter(struct ext2mb *mb, ext2_ino_t ino, uint32_t *number, uint32_t *index)
{
	*number = (ino - 1) / mb->geometry.inodes_per_group;
	*index = (ino - 1) % mb->geometry.inodes_per_group;
	if (ino < mb->geometry.first_inode || *number >= mb->geometry.groups)
		return EXT2MB_ET_BAD_RANGE;

	struct inode_group *inodes = &mb->groups[*number].inodes;
	lock_wait(&inodes->lock);
	errcode_t error = inode_group_load(mb, *number);
	if (!error && !bits_test(inodes->bitmap, *index))
		error = EXT2MB_ET_DOUBLE_FREE;
	if (error)
		lock_release(&inodes->lock);
	return error;
}

/* Only the holder of the lock writes these counts, so that no locked instruction is needed. */
static void change(_Atomic uint32_t *count, uint32_t difference)
{
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + difference,
	                      memory_order_relaxed);
}

/* The next sync writes the bitmap. */
static void note_change(struct ext2mb *mb, struct inode_group *inodes)
{
	if (!inodes->is_dirty)
		atomic_fetch_add_explicit(&mb->bitmaps_to_write, 1, memory_order_relaxed);
	inodes->is_dirty = true;
}

bool inode_group_alloc(struct ext2mb *mb, uint32_t number, uint32_t from, bool is_directory, uint32_t *index)
{
	struct inode_group *inodes = &mb->groups[number].inodes;
	uint32_t per_group = mb->geometry.inodes_per_group;
	uint32_t found =
		bits_next_zero(inodes->bitmap, from > inodes->first_free ? from : inodes->first_free, per_group);

	if (from <= inodes->first_free)
		inodes->first_free = found;
	if (found >= per_group)
		return false;

	bits_set(inodes->bitmap, found);
	if (found == inodes->first_free)
		inodes->first_free = found + 1;
	if (per_group - (found + 1) < inodes->unused_inodes)
		inodes->unused_inodes = per_group - (found + 1);
	change(&inodes->free_inodes, (uint32_t)-1);
	if (is_directory)
		change(&inodes->directories, 1);
	note_change(mb, inodes);
	*index = found;
	return true;
}

bool inode_group_alloc_run(struct ext2mb *mb, uint32_t number, uint32_t run, bool is_directory, uint32_t *index)
{
	const struct inode_group *inodes = &mb->groups[number].inodes;
	uint32_t per_group = mb->geometry.inodes_per_group;
	uint32_t start = (inodes->first_free + run - 1) / run * run;

	while (start + run <= per_group) {
		uint32_t used = bits_next_one(inodes->bitmap, start, start + run);

		if (used == start + run)
			return inode_group_alloc(mb, number, start, is_directory, index);
		start += run;
	}
	return false;
}

void inode_group_give(struct ext2mb *mb, uint32_t number, uint32_t index, bool is_directory)
{
	struct inode_group *inodes = &mb->groups[number].inodes;

	bits_clear(inodes->bitmap, index);
	if (index < inodes->first_free)
		inodes->first_free = index;
	change(&inodes->free_inodes, 1);
	if (is_directory && inode_group_directories(mb, number))
		change(&inodes->directories, (uint32_t)-1);
	note_change(mb, inodes);
}
