/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/apply/names.h"

#include <errno.h>
#include <string.h>

#include "ondisk/inode_store.h"
#include "ondisk/map_scan.h"
#include "ondisk/xattr_read.h"
#include "support/vector.h"
#include "update/directory/directory_editor.h"

struct open_directory {
	uint32_t ino; /* 0: forgotten */
	struct applying *applying;
	struct directory_editor *editor;
	struct extent_list extents; /* as they were when it was opened */
	uint64_t *map_blocks;       /* owned; of the map itself */
	size_t map_block_count, map_block_capacity;
	int64_t more_subdirectories;
	uint64_t goal;
};

/* --- Opening ------------------------------------------------------------------------------------------------------ */

struct directory_scan {
	struct map_scan scan;
	struct open_directory *directory;
};

static errcode_t add_extent(struct map_scan *scan, uint64_t logical, uint64_t physical, uint32_t count,
                            bool is_unwritten)
{
	struct open_directory *directory = ((struct directory_scan *)scan)->directory;

	/* The kernel reads them all the same; in a new map they are written ones, as e2fsck(8) makes them. */
	(void)is_unwritten;
	if (logical + count > UINT32_MAX)
		return EUCLEAN;
	directory->goal = physical + count;
	return extent_list_add(&directory->extents, (uint32_t)logical, physical, count);
}

static errcode_t add_map_block(struct map_scan *scan, uint64_t block)
{
	struct open_directory *directory = ((struct directory_scan *)scan)->directory;
	errcode_t error = vector_reserve(&directory->map_blocks, &directory->map_block_capacity,
	                                 directory->map_block_count + 1, sizeof(*directory->map_blocks));

	if (!error)
		directory->map_blocks[directory->map_block_count++] = block;
	return error;
}

static errcode_t allocate(void *context, uint32_t logical, uint64_t goal, uint32_t count, uint64_t *start,
                          uint32_t *got)
{
	struct open_directory *directory = context;
	struct update_filesystem *filesystem = directory->applying->filesystem;
	uint64_t mask = (UINT64_C(1) << directory->applying->format->cluster_bits) - 1;
	struct ext2mb_extent extent;
	errcode_t error = update_filesystem_take(filesystem, goal, goal, (count + mask) & ~mask, &extent);

	(void)logical;
	if (error)
		return error;
	*start = extent.start;
	*got = extent.count < count ? (uint32_t)extent.count : count;
	return 0;
}

/*
 * The xattrs of an inode with inline data, and the format of its area: it may have more or fewer extra fields than new
 * inodes get, and keeps them. EUCLEAN.
 */
static errcode_t read_area(const struct applying *applying, const uint8_t *raw, const struct inode_decoded *inode,
                           struct ondisk_format *own, uint8_t *area)
{
	*own = *applying->format;
	own->extra_isize = inode->extra_isize;
	errcode_t error = inode->extra_isize ? inline_data_area(own, raw, area) : EUCLEAN;

	/* Values that share their bytes: there is not room for each of them. */
	return error == ENOSPC ? EUCLEAN : error;
}

/* Its inline data in one piece. */
static errcode_t read_inline(const struct applying *applying, const uint8_t *raw, const struct inode_decoded *inode,
                             uint8_t *data, uint32_t *bytes, uint32_t *room)
{
	struct ondisk_format own;
	struct inode_view view;
	size_t rest;

	inode_view_read(applying->format, raw, &view);
	const uint8_t *more = inode_view_inline_rest(applying->format, raw, &rest);

	if (!more)
		return EUCLEAN;
	memcpy(data, view.root, INODE_ROOT_BYTES);
	memcpy(data + INODE_ROOT_BYTES, more, rest);
	*bytes = INODE_ROOT_BYTES + (uint32_t)rest;
	SCOPE_FREE uint8_t *area = malloc(applying->format->inode_bytes);

	if (!area)
		return ENOMEM;
	errcode_t error = read_area(applying, raw, inode, &own, area);

	*room = error ? 0 : inline_data_room(&own, area);
	return !error && *room < *bytes ? EUCLEAN : error;
}

static errcode_t open_editor(struct open_directory *directory, const uint8_t *raw, const struct inode_decoded *inode)
{
	struct applying *applying = directory->applying;
	struct directory_scan scan = {
		.scan = { .access = applying_access(applying), .extent = add_extent, .map_block = add_map_block },
		.directory = directory
	};
	SCOPE_FREE uint8_t *data = malloc(INODE_ROOT_BYTES + (size_t)applying->format->inode_bytes);
	struct directory_editor_options options = {
		.sink = applying_sink(applying),
		.format = applying->format,
		.inode_count = applying->filesystem->volume.inodes,
		.ino = directory->ino,
		.generation = inode->value.generation,
		.flags = inode->value.flags,
		.size_bytes = inode->value.size_bytes,
		.allocate = allocate,
		.context = directory,
	};
	errcode_t error = data ? 0 : ENOMEM;

	if (!error && inode->value.flags & EXT4_INLINE_DATA_FL)
		error = read_inline(applying, raw, inode, data, &options.inline_bytes, &options.inline_room_bytes);
	else if (!error)
		error = map_scan(&scan.scan, directory->ino, inode);
	if (error)
		return error;
	options.inline_data = data;
	options.extents = directory->extents.extents;
	options.extent_count = directory->extents.count;
	options.goal = directory->goal;
	return directory_editor_open(&options, &directory->editor);
}

static errcode_t read_inode(const struct applying *applying, uint32_t ino, uint8_t *raw, struct inode_decoded *inode)
{
	errcode_t error = inode_store_read(applying_access(applying), ino, raw, inode);

	return error ? error : LINUX_S_ISDIR(inode->value.mode) ? 0 : ENOTDIR;
}

/* The editor holds a pointer to it. */
static errcode_t add_directory(struct applying *applying, uint32_t ino, uint32_t *number)
{
	errcode_t error = vector_reserve(&applying->directories, &applying->directory_capacity,
	                                 applying->directory_count + 1, sizeof(struct open_directory *));
	struct open_directory *directory = error ? NULL : malloc(sizeof(*directory));

	if (!directory)
		return ENOMEM;
	*directory = (struct open_directory){ .ino = ino, .applying = applying };
	applying->directories[applying->directory_count++] = directory;
	*number = (uint32_t)applying->directory_count;
	return 0;
}

static errcode_t find_directory(struct applying *applying, uint32_t ino, struct open_directory **ret)
{
	uint32_t *number;
	errcode_t error = inode_map_enter(&applying->numbers, ino, &number);

	if (!error && !*number)
		error = add_directory(applying, ino, number);
	if (!error)
		*ret = applying->directories[*number - 1];
	return error;
}

static errcode_t find_editor(struct applying *applying, uint32_t ino, struct directory_editor **editor)
{
	SCOPE_FREE uint8_t *raw = malloc(applying->format->inode_bytes);
	struct open_directory *directory;
	struct inode_decoded inode;
	errcode_t error = raw ? find_directory(applying, ino, &directory) : ENOMEM;

	if (!error && !directory->editor) {
		error = read_inode(applying, ino, raw, &inode);
		if (!error)
			error = open_editor(directory, raw, &inode);
	}
	*editor = error ? NULL : directory->editor;
	return error;
}

/* --- Changes ------------------------------------------------------------------------------------------------------ */

errcode_t names_add(struct applying *applying, uint32_t directory, struct directory_name name,
                    struct directory_target target)
{
	struct directory_editor *editor;
	errcode_t error = find_editor(applying, directory, &editor);

	return error ? error : directory_editor_add(editor, name, target);
}

/* What has been compared is what goes: nothing may have changed the directory since. */
static errcode_t find_expected(struct applying *applying, uint32_t directory, struct directory_name name, uint32_t ino,
                               struct directory_editor **editor)
{
	struct directory_entry entry;
	errcode_t error = find_editor(applying, directory, editor);

	if (!error)
		error = directory_editor_find(*editor, name, &entry);
	return error ? error : entry.ino == ino ? 0 : EUCLEAN;
}

errcode_t names_replace(struct applying *applying, uint32_t directory, struct directory_name name, uint32_t ino,
                        struct directory_target target)
{
	struct directory_editor *editor;
	errcode_t error = find_expected(applying, directory, name, ino, &editor);

	return error ? error : directory_editor_replace(editor, name, target);
}

errcode_t names_remove(struct applying *applying, uint32_t directory, struct directory_name name, uint32_t ino)
{
	struct directory_editor *editor;
	errcode_t error = find_expected(applying, directory, name, ino, &editor);

	return error ? error : directory_editor_remove(editor, name);
}

errcode_t names_count_subdirectories(struct applying *applying, uint32_t ino, int more)
{
	struct open_directory *directory;
	errcode_t error = find_directory(applying, ino, &directory);

	if (!error)
		directory->more_subdirectories += more;
	return error;
}

void names_forget(struct applying *applying, uint32_t ino)
{
	uint32_t *number = inode_map_find(&applying->numbers, ino);

	if (!number || !*number)
		return;
	struct open_directory *directory = applying->directories[*number - 1];

	directory_editor_close(TAKE(directory->editor));
	directory->ino = 0;
	*number = 0;
}

/* --- Writing ------------------------------------------------------------------------------------------------------ */

static uint64_t extent_clusters(const struct ondisk_format *format, const struct file_extent *extents, size_t count)
{
	uint64_t clusters = 0;

	/* Extents that share a cluster follow each other. */
	for (size_t i = 0; i < count; i++) {
		uint64_t first = extents[i].physical >> format->cluster_bits;
		uint64_t last = (extents[i].physical + extents[i].count - 1) >> format->cluster_bits;
		bool is_shared =
			i && (extents[i - 1].physical + extents[i - 1].count - 1) >> format->cluster_bits == first;

		clusters += last - first + 1 - is_shared;
	}
	return clusters;
}

/* The map gets its old blocks again, and more of them as it needs. */
static errcode_t write_map(struct open_directory *directory, const struct directory_state *state,
                           struct inode_value *value)
{
	struct applying *applying = directory->applying;
	struct ondisk_format form = *applying->format;
	const struct ondisk_format *format = &form;
	uint64_t before = extent_clusters(format, directory->extents.extents, directory->extents.count) +
	                  directory->map_block_count;

	/* A directory of before the feature keeps its indirect map. */
	form.extents = value->flags & EXT4_EXTENTS_FL;
	uint64_t count = file_map_blocks(format, state->extents, state->extent_count);
	SCOPE_FREE uint8_t *blocks = calloc(count + 1, format->block_bytes);
	errcode_t error = blocks ? vector_reserve(&directory->map_blocks, &directory->map_block_capacity, count,
	                                          sizeof(*directory->map_blocks)) :
	                           ENOMEM;

	if (!error && count > directory->map_block_count)
		error = update_filesystem_take_clusters(applying->filesystem, directory->goal, directory->goal,
		                                        directory->map_blocks + directory->map_block_count,
		                                        (uint32_t)(count - directory->map_block_count));
	for (size_t i = count; !error && i < directory->map_block_count; i++)
		error = applying_access(applying)->free(applying_access(applying), directory->map_blocks[i],
		                                        UINT64_C(1) << format->cluster_bits);
	if (!error)
		error = file_map_build(format, directory->ino, value->generation, state->extents, state->extent_count,
		                       directory->map_blocks, value->root, blocks);
	for (size_t i = 0; !error && i < count; i++)
		error = sink_write(applying_sink(applying), directory->map_blocks[i], 1,
		                   blocks + i * format->block_bytes);
	uint64_t after = extent_clusters(format, state->extents, state->extent_count) + count;

	value->blocks += (after - before) << format->cluster_bits;
	return error;
}

/* The inode keeps its xattrs. data: lie after them; NULL: the inode has none any more. */
static errcode_t write_inline(const struct applying *applying, uint32_t ino, uint8_t *raw, struct inode_decoded *inode,
                              const uint8_t *data, uint32_t bytes)
{
	SCOPE_FREE uint8_t *area = malloc(applying->format->inode_bytes);
	struct ondisk_format own;
	errcode_t error = area ? read_area(applying, raw, inode, &own, area) : ENOMEM;

	if (error)
		return error;
	if (data)
		inline_data_encode(&own, data, bytes, inode->value.root, area);
	error = inode_change_area(applying->format, ino, inode, area, raw);
	return error ? error : inode_store_write(applying_access(applying), ino, raw);
}

/* Links beyond what an inode counts are 1, as with the feature dir_nlink. */
static void count_links(const struct applying *applying, const struct open_directory *directory,
                        struct inode_value *value)
{
	uint64_t links = value->links + (uint64_t)directory->more_subdirectories;

	if (value->links == 1 && applying->format->dir_nlink)
		return;
	value->links = (uint32_t)links;
}

static errcode_t charge(struct applying *applying, const struct inode_value *value, uint64_t before_blocks)
{
	if (value->blocks == before_blocks || !applying->filesystem->release.changes)
		return 0;
	return quota_changes_charge(&applying->filesystem->quota, applying->format, value, 0,
	                            (int64_t)(value->blocks - before_blocks));
}

static errcode_t flush_directory(struct open_directory *directory)
{
	struct applying *applying = directory->applying;
	SCOPE_FREE uint8_t *raw = malloc(applying->format->inode_bytes);
	struct directory_state state = { 0 };
	struct inode_decoded inode;
	errcode_t error = raw ? read_inode(applying, directory->ino, raw, &inode) : ENOMEM;

	if (!error && directory->editor)
		error = directory_editor_flush(directory->editor, &state);
	if (error)
		return error;
	uint64_t before = inode.value.blocks;
	bool was_inline = inode.value.flags & EXT4_INLINE_DATA_FL;

	count_links(applying, directory, &inode.value);
	if (!state.is_changed)
		return directory->more_subdirectories ?
		               inode_store_change(applying_access(applying), directory->ino, &inode) :
		               0;
	inode.value.flags = state.flags;
	inode.value.size_bytes = state.size_bytes;
	if (state.flags & EXT4_INLINE_DATA_FL)
		return write_inline(applying, directory->ino, raw, &inode, state.inline_data, state.inline_bytes);
	if (state.is_map_changed)
		error = write_map(directory, &state, &inode.value);
	if (!error)
		error = charge(applying, &inode.value, before);
	if (error)
		return error;
	return was_inline ? write_inline(applying, directory->ino, raw, &inode, NULL, 0) :
	                    inode_store_change(applying_access(applying), directory->ino, &inode);
}

errcode_t names_inode(struct applying *applying, uint32_t directory, struct inode_decoded *inode)
{
	SCOPE_FREE uint8_t *raw = malloc(applying->format->inode_bytes);

	return raw ? read_inode(applying, directory, raw, inode) : ENOMEM;
}

errcode_t names_settle(struct applying *applying, uint32_t ino)
{
	const uint32_t *number = inode_map_find(&applying->numbers, ino);
	errcode_t error = number && *number ? flush_directory(applying->directories[*number - 1]) : 0;

	names_forget(applying, ino);
	return error;
}

errcode_t names_flush(struct applying *applying)
{
	errcode_t error = 0;

	for (size_t i = 0; !error && i < applying->directory_count; i++)
		if (applying->directories[i]->ino)
			error = flush_directory(applying->directories[i]);
	return error;
}

void names_close(struct applying *applying)
{
	for (size_t i = 0; i < applying->directory_count; i++) {
		directory_editor_close(applying->directories[i]->editor);
		free(applying->directories[i]->extents.extents);
		free(applying->directories[i]->map_blocks);
		free(applying->directories[i]);
	}
	applying->directory_count = 0;
	inode_map_free(&applying->numbers);
}
