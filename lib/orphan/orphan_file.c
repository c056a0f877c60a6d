/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The public functions of the orphan file: slots in memory, the list beside them, and both on disk. */
#include "orphan/orphan_file.h"

#include <errno.h>
#include <string.h>

#include "allocator/core/allocator.h"
#include "ext2fs/messages.h"
#include "ext2fs/sized_struct.h"
#include "allocator/free/commit.h"
#include "allocator/fs/fs_state.h"
#include "orphan/fs_orphan.h"
#include "orphan/fs_orphan_release.h"
#include "orphan/orphan_list.h"
#include "orphan/orphan_slots.h"
#include "ondisk/orphan_block.h"

struct ext2mb_orphans {
	struct ext2mb *mb; /* may be NULL */
	uint32_t first_ino;
	uint32_t last_ino;
	pthread_mutex_t io_lock; /* used if there is no allocator, which has one */
	struct fs_orphan disk;
	struct orphan_slots slots; /* if disk.blocks */
	uint32_t *entries_on_disk; /* of each block; ORPHAN_PRESENT is set if any is not 0 */
	pthread_mutex_t list_lock; /* of the list; io_lock is taken inside it */
	struct orphan_list list;
};

static struct orphan_message begin_why(char *why, size_t why_bytes)
{
	if (why_bytes)
		*why = '\0';
	return (struct orphan_message){ why, why_bytes };
}

static uint32_t count_entries(const uint32_t *entries, uint32_t count)
{
	uint32_t used = 0;

	for (uint32_t slot = 0; slot < count; slot++)
		used += !!entries[slot];
	return used;
}

static errcode_t load_blocks(struct ext2mb_orphans *orphans, const struct orphan_message *why)
{
	const uint32_t per_block = orphans->slots.per_block;

	SCOPE_FREE uint32_t *entries = malloc(per_block * sizeof(*entries));
	orphans->entries_on_disk = calloc(orphans->disk.blocks, sizeof(*orphans->entries_on_disk));
	if (!entries || !orphans->entries_on_disk)
		return ENOMEM;
	for (uint32_t block = 0; block < orphans->disk.blocks; block++) {
		errcode_t error = fs_orphan_read_block(&orphans->disk, block, entries, why);
		if (error)
			return error;
		orphan_slots_load(&orphans->slots, block, entries);
		orphans->entries_on_disk[block] = count_entries(entries, per_block);
	}
	return 0;
}

static errcode_t load_file(struct ext2mb_orphans *orphans, const struct orphan_slots_twin *twin,
                           const struct orphan_message *why)
{
	struct fs_orphan *disk = &orphans->disk;

	if (!disk->blocks)
		return 0;
	errcode_t error = orphan_slots_create(&orphans->slots, twin, disk->blocks, orphan_block_slots(&disk->format));
	if (error) {
		disk->blocks = 0; /* no slots to destroy */
		return error;
	}
	return load_blocks(orphans, why);
}

SIZED_STRUCT_HAS_NO_PADDING(struct ext2mb_orphan_options, mb);
SIZED_STRUCT_HAS_NO_PADDING(struct ext2mb_orphan_released, blocks);

errcode_t orphan_file_open(ext2_filsys fs, const struct ext2mb_orphan_options *options,
                           const struct orphan_slots_twin *twin, char *why, size_t why_bytes,
                           struct ext2mb_orphans **ret)
{
	const struct orphan_message whose = begin_why(why, why_bytes);
	const struct ext2mb_orphan_options *ours = NULL;
	struct ext2mb_orphan_options copy;
	errcode_t error;

	messages_register();
	if (options) {
		ours = sized_struct_read(options, &copy, sizeof(copy),
		                         SIZED_STRUCT_LEAST(struct ext2mb_orphan_options, mb), &error);
		if (!ours)
			return error;
	}
	if (ours && ours->mb && ours->mb->fs_state->fs != fs)
		return EXT2MB_ET_BAD_ARGUMENT;
	struct ext2mb_orphans *orphans = calloc(1, sizeof(*orphans));
	if (!orphans)
		return ENOMEM;
	orphans->mb = ours ? ours->mb : NULL;
	orphans->first_ino = EXT2_FIRST_INODE(fs->super);
	orphans->last_ino = fs->super->s_inodes_count;
	pthread_mutex_init(&orphans->io_lock, NULL);
	pthread_mutex_init(&orphans->list_lock, NULL);
	orphan_list_init(&orphans->list);
	error = fs_orphan_open(&orphans->disk, fs, orphans->mb ? &orphans->mb->fs_state->lock : &orphans->io_lock,
	                       &whose);
	if (error) {
		free(orphans);
		return error;
	}
	error = load_file(orphans, twin, &whose);
	if (!error)
		error = fs_orphan_read_list(&orphans->disk, &orphans->list, &whose);
	if (error) {
		ext2mb_orphan_close(orphans);
		return error;
	}
	*ret = orphans;
	return 0;
}

errcode_t ext2mb_orphan_open(ext2_filsys fs, const struct ext2mb_orphan_options *options, char *why, size_t why_bytes,
                             struct ext2mb_orphans **ret)
{
	if (!fs || !ret || (!why && why_bytes))
		return EXT2MB_ET_BAD_ARGUMENT;
	return orphan_file_open(fs, options, &orphan_slots_lockless, why, why_bytes, ret);
}

void ext2mb_orphan_close(struct ext2mb_orphans *orphans)
{
	if (!orphans)
		return;
	if (orphans->disk.blocks)
		orphan_slots_destroy(&orphans->slots);
	free(orphans->entries_on_disk);
	orphan_list_destroy(&orphans->list);
	fs_orphan_close(&orphans->disk);
	pthread_mutex_destroy(&orphans->list_lock);
	pthread_mutex_destroy(&orphans->io_lock);
	free(orphans);
}

static __attribute__((noinline)) errcode_t add_to_list(struct ext2mb_orphans *orphans, ext2_ino_t ino, uint32_t *index)
{
	pthread_mutex_lock(&orphans->list_lock);
	errcode_t error = orphan_list_add(&orphans->list, ino, index);
	pthread_mutex_unlock(&orphans->list_lock);
	if (!error)
		*index += EXT2MB_ORPHAN_ON_LIST;
	return error;
}

errcode_t ext2mb_orphan_add(struct ext2mb_orphans *orphans, unsigned int worker, ext2_ino_t ino, uint32_t *index)
{
	if (!orphans || !index)
		return EXT2MB_ET_BAD_ARGUMENT;
	if (ino < orphans->first_ino || ino > orphans->last_ino)
		return EXT2MB_ET_BAD_RANGE;
	if (orphans->disk.blocks && !orphan_slots_claim(&orphans->slots, worker, ino, index))
		return 0;
	return add_to_list(orphans, ino, index);
}

static __attribute__((noinline)) errcode_t delete_from_list(struct ext2mb_orphans *orphans, uint32_t index,
                                                            ext2_ino_t ino)
{
	pthread_mutex_lock(&orphans->list_lock);
	errcode_t error = orphan_list_remove(&orphans->list, index - EXT2MB_ORPHAN_ON_LIST, ino);
	pthread_mutex_unlock(&orphans->list_lock);
	return error;
}

errcode_t ext2mb_orphan_delete(struct ext2mb_orphans *orphans, uint32_t index, ext2_ino_t ino)
{
	if (!orphans)
		return EXT2MB_ET_BAD_ARGUMENT;
	if (index < EXT2MB_ORPHAN_ON_LIST)
		return orphans->disk.blocks ? orphan_slots_put(&orphans->slots, index, ino) : EXT2MB_ET_ORPHAN_ABSENT;
	return delete_from_list(orphans, index, ino);
}

ext2_ino_t ext2mb_orphan_next(struct ext2mb_orphans *orphans, uint32_t *index)
{
	ext2_ino_t ino = 0;

	if (!orphans || !index)
		return 0;
	if (*index < EXT2MB_ORPHAN_ON_LIST) {
		if (orphans->disk.blocks)
			ino = orphan_slots_next(&orphans->slots, index);
		if (ino)
			return ino;
		*index = EXT2MB_ORPHAN_ON_LIST;
	}
	uint32_t node = *index - EXT2MB_ORPHAN_ON_LIST;
	pthread_mutex_lock(&orphans->list_lock);
	ino = orphan_list_next(&orphans->list, &node);
	pthread_mutex_unlock(&orphans->list_lock);
	*index = node + EXT2MB_ORPHAN_ON_LIST;
	return ino;
}

/* ORPHAN_PRESENT describes the blocks on disk, not those in memory, because threads go on meanwhile. */
static errcode_t sync_file(struct ext2mb_orphans *orphans)
{
	const uint32_t per_block = orphans->slots.per_block;
	bool has_entries = false;

	SCOPE_FREE uint32_t *entries = malloc(per_block * sizeof(*entries));
	if (!entries)
		return ENOMEM;
	for (uint32_t block = 0; block < orphans->disk.blocks; block++) {
		if (orphan_slots_collect(&orphans->slots, block, entries)) {
			errcode_t error = fs_orphan_write_block(&orphans->disk, block, entries);
			if (error) {
				orphan_slots_mark_changed(&orphans->slots, block);
				return error;
			}
			orphans->entries_on_disk[block] = count_entries(entries, per_block);
		}
		has_entries |= orphans->entries_on_disk[block] > 0;
	}
	fs_orphan_mark_present(&orphans->disk, has_entries);
	return 0;
}

errcode_t ext2mb_orphan_sync(struct ext2mb_orphans *orphans)
{
	if (!orphans)
		return EXT2MB_ET_BAD_ARGUMENT;
	if (!(orphans->disk.fs->flags & EXT2_FLAG_RW))
		return EXT2_ET_RO_FILSYS;
	if (orphans->disk.blocks) {
		errcode_t error = sync_file(orphans);
		if (error)
			return error;
	}
	pthread_mutex_lock(&orphans->list_lock);
	errcode_t error = fs_orphan_write_list(&orphans->disk, &orphans->list);
	pthread_mutex_unlock(&orphans->list_lock);
	return error;
}

/* Releases the orphans with indexes in [first, end). */
static errcode_t release_range(struct ext2mb_orphans *orphans, struct orphan_release *release, uint32_t first,
                               uint64_t end, const struct orphan_message *why)
{
	uint32_t index = first;

	for (ext2_ino_t ino = ext2mb_orphan_next(orphans, &index); ino && index < end;
	     index++, ino = ext2mb_orphan_next(orphans, &index)) {
		errcode_t error = orphan_release_inode(release, ino, index);
		if (!error)
			error = ext2mb_orphan_delete(orphans, index, ino);
		if (error) {
			orphan_message_say(why, "inode %u", ino);
			return error;
		}
	}
	return 0;
}

static errcode_t release_all(struct ext2mb_orphans *orphans, struct ext2mb *mb, struct ext2mb_orphan_released *counts,
                             const struct orphan_message *why)
{
	struct orphan_release release;
	errcode_t error = orphan_release_begin(&release, mb);

	if (error)
		return error;
	error = release_range(orphans, &release, EXT2MB_ORPHAN_ON_LIST, UINT64_C(1) << 32, why);
	if (!error)
		error = release_range(orphans, &release, 0, EXT2MB_ORPHAN_ON_LIST, why);
	if (counts)
		sized_struct_write(counts, &release.counts, sizeof(release.counts));
	/* Also after an error: some have been released, and why stays what it is about. */
	errcode_t end_error = orphan_release_end(&release, error ? &(struct orphan_message){ 0 } : why);

	return error ? error : end_error;
}

errcode_t ext2mb_orphan_release(struct ext2mb_orphans *orphans, struct ext2mb_orphan_released *counts, char *why,
                                size_t why_bytes)
{
	if (!orphans || (!why && why_bytes))
		return EXT2MB_ET_BAD_ARGUMENT;
	const struct orphan_message whose = begin_why(why, why_bytes);
	struct ext2mb *mb = orphans->mb;
	errcode_t error = 0;

	if (mb)
		error = commit_refuse_in_discard(mb);
	if (!error && counts)
		error = sized_struct_is_writable(counts, SIZED_STRUCT_LEAST(struct ext2mb_orphan_released, blocks));
	if (error)
		return error;
	if (counts)
		sized_struct_write(counts, &(struct ext2mb_orphan_released){ 0 }, sizeof(*counts));
	if (mb)
		return release_all(orphans, mb, counts, &whose);
	error = ext2mb_open(orphans->disk.fs, NULL, &mb);
	if (error)
		return error;
	error = release_all(orphans, mb, counts, &whose);
	/* Synced after an error, too: inodes that were released before it no longer refer to their blocks. */
	errcode_t sync_error = orphans->disk.fs->flags & EXT2_FLAG_RW ? ext2mb_sync(mb) : 0;
	ext2mb_close(mb);
	return error ? error : sync_error;
}
