/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/workloads/normalize_times.h"

#include <errno.h>
#include <stdlib.h>

/* A position in a file, or in all files of a tree. */
struct cursor {
	const struct file_set **directories; /* owned; of a tree, in the order of creation; NULL: one file */
	size_t directory_count, directory, index;
	const struct simulated_file *file; /* NULL: at the end */
	size_t extent;
	uint64_t in_extent;
	uint64_t due; /* blocks of an archive that are moved once they make a turn, as by readahead */
};

typedef errcode_t (*move_blocks)(struct disk_time *disk, uint64_t start, uint64_t count);

static errcode_t read_blocks(struct disk_time *disk, uint64_t start, uint64_t count)
{
	disk_time_read(disk, start, count);
	return 0;
}

/* Siblings are listed with the newest first. */
static errcode_t open_tree(struct cursor *cursor, const struct file_set *tree)
{
	size_t count = 0;

	for (const struct file_set *set = tree->first; set; set = set->next)
		count++;
	cursor->directories = calloc(count ? count : 1, sizeof(*cursor->directories));
	if (!cursor->directories)
		return ENOMEM;
	cursor->directory_count = count;
	for (const struct file_set *set = tree->first; set; set = set->next)
		cursor->directories[--count] = set;
	return 0;
}

/* Moves to the next file with an inode; a new cursor has none yet. */
static void next_file(struct cursor *cursor)
{
	cursor->file = NULL;
	cursor->extent = 0;
	cursor->in_extent = 0;
	while (cursor->directory < cursor->directory_count && !cursor->file) {
		const struct file_set *set = cursor->directories[cursor->directory];

		if (cursor->index == set->count) {
			cursor->directory++;
			cursor->index = 0;
		} else if (set->files[cursor->index++].ino) {
			cursor->file = &set->files[cursor->index - 1];
		}
	}
}

/* Moves up to `most` blocks of the cursor's file; *moved gets their number. */
static errcode_t move(struct disk_time *disk, struct cursor *cursor, uint64_t most, move_blocks blocks, uint64_t *moved)
{
	const struct extent_list *map = &cursor->file->map;
	errcode_t error = 0;

	for (*moved = 0; !error && *moved < most && cursor->extent < map->count;) {
		const struct file_extent *extent = &map->extents[cursor->extent];
		uint64_t count = (extent->count & ~FILE_EXTENT_UNWRITTEN) - cursor->in_extent;

		if (count > most - *moved)
			count = most - *moved;
		error = blocks(disk, extent->physical + cursor->in_extent, count);
		*moved += count;
		cursor->in_extent += count;
		if (cursor->in_extent == (extent->count & ~FILE_EXTENT_UNWRITTEN)) {
			cursor->extent++;
			cursor->in_extent = 0;
		}
	}
	return error;
}

static uint64_t turn_blocks(const struct disk_time *disk)
{
	uint64_t blocks = NORMALIZE_TURN_BYTES / disk->block_bytes;

	return blocks ? blocks : 1;
}

/* Moves a file of the tree, and as much of the archive. */
static errcode_t run_turn(struct disk_time *disk, struct cursor *tree, move_blocks tree_blocks, struct cursor *archive,
                          move_blocks archive_blocks)
{
	uint64_t moved;
	errcode_t error = move(disk, tree, UINT64_MAX, tree_blocks, &moved);

	archive->due += moved + 1;
	next_file(tree);
	if (error || !archive->file || (tree->file && archive->due < turn_blocks(disk)))
		return error;
	uint64_t due = tree->file ? archive->due : UINT64_MAX;

	archive->due = 0;
	return move(disk, archive, due, archive_blocks, &moved);
}

static errcode_t run_turns(struct disk_time *disk, struct cursor *trees, struct cursor *archives, size_t count,
                           bool to_archives)
{
	errcode_t error = 0;

	for (size_t open = count; open && !error;) {
		open = 0;
		for (size_t stream = 0; stream < count && !error; stream++) {
			if (!trees[stream].file)
				continue;
			open++;
			error = run_turn(disk, &trees[stream], to_archives ? read_blocks : disk_time_write,
			                 &archives[stream], to_archives ? disk_time_write : read_blocks);
		}
	}
	disk_time_flush(disk);
	return error;
}

errcode_t normalize_time_trees(struct disk_time *disk, const struct file_set *trees, const struct file_set *archives,
                               bool to_archives)
{
	size_t count = 0, stream;

	for (const struct file_set *tree = trees->first; tree; tree = tree->next)
		count++;
	SCOPE_FREE struct cursor *tree_cursors = calloc(count + 1, sizeof(*tree_cursors));
	SCOPE_FREE struct cursor *archive_cursors = calloc(count + 1, sizeof(*archive_cursors));
	errcode_t error = tree_cursors && archive_cursors ? 0 : ENOMEM;

	stream = count;
	for (const struct file_set *tree = trees->first; tree && !error; tree = tree->next) {
		error = open_tree(&tree_cursors[--stream], tree);
		next_file(&tree_cursors[stream]);
		if (archives && stream < archives->count)
			archive_cursors[stream].file = &archives->files[stream];
	}
	if (!error)
		error = run_turns(disk, tree_cursors, archive_cursors, count, to_archives);
	for (stream = 0; tree_cursors && stream < count; stream++)
		free(tree_cursors[stream].directories);
	return error;
}

errcode_t normalize_time_files(struct disk_time *disk, const struct file_set *set)
{
	SCOPE_FREE struct cursor *cursors = calloc(set->count + 1, sizeof(*cursors));
	errcode_t error = cursors ? 0 : ENOMEM;
	uint64_t moved = 1, all = 1;

	for (size_t index = 0; index < set->count && !error; index++)
		cursors[index].file = &set->files[index];
	while (all && !error) {
		all = 0;
		for (size_t index = 0; index < set->count && !error; index++) {
			error = move(disk, &cursors[index], turn_blocks(disk), disk_time_write, &moved);
			all += moved;
		}
	}
	disk_time_flush(disk);
	return error;
}

/* The bitmaps of a flex group's groups are adjacent in its first group. */
errcode_t normalize_time_bitmaps(struct disk_time *disk, const struct image *image, const struct file_set *set)
{
	const struct geometry *geometry = &image->geometry;
	SCOPE_FREE bool *is_written = calloc(geometry->groups, sizeof(*is_written));
	errcode_t error = is_written ? 0 : ENOMEM;

	for (size_t file = 0; file < set->count && !error; file++) {
		const struct extent_list *map = &set->files[file].map;

		for (size_t index = 0; index < map->count; index++) {
			uint64_t last =
				map->extents[index].physical + (map->extents[index].count & ~FILE_EXTENT_UNWRITTEN) - 1;

			for (uint32_t group = image_block_group(image, map->extents[index].physical);
			     group <= image_block_group(image, last); group++)
				is_written[group] = true;
		}
	}
	for (uint32_t group = 0; group < geometry->groups && !error; group++) {
		uint32_t in_flex = group % geometry->flex_groups;

		if (is_written[group])
			error = disk_time_write(disk, geometry_block(geometry, group - in_flex, 0) + in_flex, 1);
	}
	disk_time_flush(disk);
	return error;
}
