// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate/workloads/deletion.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ondisk/directory.h"
#include "support/run/interrupt.h"

static errcode_t open_counts(struct deletion *deletion)
{
	const struct image *image = deletion->image;
	errcode_t error = dirty_blocks_open(&deletion->bitmaps, image->group_count);

	if (!error)
		error = dirty_blocks_open(&deletion->inode_bitmaps, image->group_count);
	if (!error)
		error = dirty_blocks_open(&deletion->tables,
		                          (size_t)image->table_blocks_per_group * image->group_count);
	if (!error)
		error = dirty_blocks_open(&deletion->descriptors, image->group_count);
	return error;
}

void deletion_close(struct deletion *deletion)
{
	dirty_blocks_close(&deletion->bitmaps);
	dirty_blocks_close(&deletion->inode_bitmaps);
	dirty_blocks_close(&deletion->tables);
	dirty_blocks_close(&deletion->descriptors);
}

/* --- The order ---------------------------------------------------------------------------------------------- */

struct ranked {
	uint64_t rank;
	struct file_set *directory;
};

static int by_rank(const void *left, const void *right)
{
	const struct ranked *one = left, *other = right;

	return (one->rank > other->rank) - (one->rank < other->rank);
}

/* Where there is no index, the names lie in the order in which they were made. */
static errcode_t readdir_rank(const struct image *image, const char *name, uint64_t *rank)
{
	const struct directory_name directory_name = { .name = name, .length_bytes = (uint8_t)strlen(name) };
	uint32_t hash, minor;

	if (!image->format.dir_index)
		return 0;
	errcode_t error = directory_hash(&image->format, &directory_name, false, &hash, &minor);

	*rank = (uint64_t)hash << 32 | minor;
	return error;
}

static errcode_t sort_directories(struct deletion *deletion)
{
	SCOPE_FREE struct ranked *ranked = calloc(deletion->directory_count, sizeof(*ranked));
	errcode_t error = ranked ? 0 : ENOMEM;

	for (uint32_t number = 0; !error && number < deletion->directory_count; number++) {
		struct file_set *directory = deletion->directories[number];

		ranked[number] = (struct ranked){ number, directory };
		if (deletion->order == DELETION_BY_INODE)
			ranked[number].rank = directory->directory.ino;
		else if (deletion->order == DELETION_BY_READDIR)
			error = readdir_rank(deletion->image, directory->name, &ranked[number].rank);
	}
	if (error)
		return error;
	qsort(ranked, deletion->directory_count, sizeof(*ranked), by_rank);
	for (uint32_t number = 0; number < deletion->directory_count; number++)
		deletion->directories[number] = ranked[number].directory;
	return 0;
}

/* --- What it dirties ---------------------------------------------------------------------------------------- */

static void mark_group(struct deletion *deletion, uint32_t group, uint32_t commit)
{
	dirty_blocks_mark(&deletion->descriptors, group / deletion->image->descriptors_per_block, commit);
}

/* What the deletion of a file changes, but for the directory. */
static void mark_file(struct deletion *deletion, const struct simulated_file *file, uint32_t commit)
{
	const struct image *image = deletion->image;
	uint32_t group = (file->ino - 1) / image->inodes_per_group;
	size_t in_group = (file->ino - 1) % image->inodes_per_group;

	dirty_blocks_mark(&deletion->inode_bitmaps, group, commit);
	dirty_blocks_mark(&deletion->tables,
	                  (size_t)group * image->table_blocks_per_group +
	                          in_group * image->format.inode_bytes / image->format.block_bytes,
	                  commit);
	mark_group(deletion, group, commit);
	for (size_t index = 0; index < file->extent_count; index++) {
		/* The allocator makes no extent of a small file that reaches into the next group. */
		uint32_t block_group = image_block_group(image, file->extents[index].physical);

		dirty_blocks_mark(&deletion->bitmaps, block_group, commit);
		mark_group(deletion, block_group, commit);
	}
}

/* --- The deletion ------------------------------------------------------------------------------------------- */

static errcode_t delete_files(struct deletion *deletion, struct file_set *directory, uint64_t *deleted)
{
	struct image *image = deletion->image;

	for (size_t index = 0; index < directory->count; index++, ++*deleted) {
		errcode_t error = interrupt_pending() ? EINTR : 0;

		mark_file(deletion, &directory->files[index], (uint32_t)(*deleted / deletion->batch_files) + 1);
		if (!error)
			error = simulated_file_delete(&directory->files[index], image->worker);
		if (!error && (*deleted + 1) % deletion->batch_files == 0)
			error = ext2mb_commit(image->mb);
		if (error)
			return error;
	}
	return 0;
}

errcode_t deletion_run(struct deletion *deletion)
{
	uint64_t deleted = 0;
	errcode_t error = open_counts(deletion);

	if (!error)
		error = sort_directories(deletion);
	for (uint32_t number = 0; !error && number < deletion->directory_count; number++)
		error = delete_files(deletion, deletion->directories[number], &deleted);
	return error;
}

void deletion_add_values(const struct deletion *deletion, struct result *result)
{
	const struct dirty_blocks *bitmaps = &deletion->bitmaps, *inode_bitmaps = &deletion->inode_bitmaps;
	uint64_t writes =
		bitmaps->writes + inode_bitmaps->writes + deletion->tables.writes + deletion->descriptors.writes;
	double mib = (double)writes * deletion->image->format.block_bytes / (1 << 20);
	const struct result_value values[] = {
		{ NULL, "bitmaps_dirtied", "Block bitmaps dirtied", RESULT_LAYOUT, (double)bitmaps->distinct, 0 },
		{ NULL, "bitmap_writes", "Block bitmap writes", RESULT_LAYOUT, (double)bitmaps->writes, 0 },
		{ NULL, "bitmap_rewrites", "Of those, of the same block again", RESULT_LAYOUT,
		  (double)(bitmaps->writes - bitmaps->distinct), 0 },
		{ NULL, "bitmap_most_writes", "Most writes of one block bitmap", RESULT_LAYOUT,
		  (double)dirty_blocks_most(bitmaps), 0 },
		{ NULL, "inode_bitmap_writes", "Inode bitmap writes", RESULT_LAYOUT, (double)inode_bitmaps->writes, 0 },
		{ NULL, "inode_bitmap_most_writes", "Most writes of one inode bitmap", RESULT_LAYOUT,
		  (double)dirty_blocks_most(inode_bitmaps), 0 },
		{ NULL, "inode_table_writes", "Inode table writes", RESULT_LAYOUT, (double)deletion->tables.writes, 0 },
		{ NULL, "descriptor_writes", "Descriptor writes", RESULT_LAYOUT, (double)deletion->descriptors.writes,
		  0 },
		{ NULL, "metadata_mib", "MiB of metadata written", RESULT_LAYOUT, mib, 1 },
	};

	result_add(result, values, sizeof(values) / sizeof(*values));
}
