/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "ondisk/directory.h"
#include "simulate/image/image.h"
#include "simulate/image/inode_buffers.h"

/* --- A directory's entries, for lib/ondisk -------------------------------------- */

struct entry {
	const struct file_set *set; /* a subdirectory; NULL: a file */
	uint32_t ino;
	char name[12]; /* of a file */
};

/* Zero-initialise. */
struct listing {
	struct entry *entries; /* owned */
	uint32_t subdirectories;
	struct directory_source source; /* of the entries */
};

static struct directory_name entry_name(const void *context, uint32_t index)
{
	const struct entry *entry = (const struct entry *)context + index;
	const char *name = entry->set ? entry->set->name : entry->name;

	return (struct directory_name){ name, (uint8_t)strlen(name) };
}

static struct directory_target entry_target(const void *context, uint32_t index)
{
	const struct entry *entry = (const struct entry *)context + index;

	return (struct directory_target){ entry->ino, entry->set ? EXT2_FT_DIR : EXT2_FT_REG_FILE };
}

static int digits_of(size_t count)
{
	int digits = 1;

	for (; count > 10; count = (count + 9) / 10)
		digits++;
	return digits;
}

/* Lists subdirectories, then the files that exist. */
static errcode_t list(const struct file_set *set, struct listing *listing)
{
	uint64_t most = set->count;
	uint32_t count = 0;
	int digits = digits_of(set->count);

	for (const struct file_set *child = set->first; child; child = child->next)
		most++;
	if (most > UINT32_MAX)
		return EFBIG;
	assert(digits < (int)sizeof(listing->entries->name));
	listing->entries = calloc(most + 1, sizeof(*listing->entries));
	if (!listing->entries)
		return ENOMEM;
	for (const struct file_set *child = set->first; child; child = child->next)
		listing->entries[count++] = (struct entry){ .set = child, .ino = child->directory.ino };
	listing->subdirectories = count;
	for (size_t index = 0; index < set->count; index++) {
		struct entry *entry = &listing->entries[count];

		if (!set->files[index].ino)
			continue;
		entry->ino = set->files[index].ino;
		snprintf(entry->name, sizeof(entry->name), "%0*" PRIu32, digits, (uint32_t)index);
		count++;
	}
	listing->source = (struct directory_source){
		.context = listing->entries,
		.count = count,
		.name = entry_name,
		.target = entry_target,
	};
	return 0;
}

/* --- Missing blocks ------------------------------------------------------------------------------- */

/* Allocates count blocks near goal; with bigalloc, each is the first of a cluster. */
static errcode_t alloc_blocks(struct image *image, uint64_t goal, uint32_t count, uint64_t *blocks)
{
	uint64_t step = geometry_cluster_blocks(&image->geometry);

	for (uint32_t taken = 0; taken < count;) {
		const struct ext2mb_request request = { .struct_bytes = sizeof(request),
			                                .goal = goal,
			                                .count = (count - taken) * step };
		struct ext2mb_extent extent;
		errcode_t error = ext2mb_alloc(image->worker, &request, &extent);

		if (error)
			return error;
		for (uint64_t block = 0; block < extent.count; block += step)
			blocks[taken++] = extent.start + block;
		goal = extent.start + extent.count;
	}
	return 0;
}

/* A map's goal is its file's first block; for an empty file or a directory the inode's group. */
static uint64_t goal_of(const struct image *image, const struct simulated_file *file)
{
	if (file->map.count)
		return file->map.extents[0].physical;
	return image_inode_group_start(image, file->ino);
}

static int by_number(const void *left, const void *right)
{
	const uint64_t *one = left, *other = right;

	return (*one > *other) - (*one < *other);
}

static errcode_t place_map(struct image *image, struct simulated_file *file)
{
	uint64_t needed = file_map_blocks(&image->format, file->map.extents, file->map.count);

	if (!needed || file->map_count == needed)
		return 0;
	uint64_t *blocks = realloc(file->map_blocks, needed * sizeof(*blocks));
	if (!blocks)
		return ENOMEM;
	file->map_blocks = blocks;
	errcode_t error =
		alloc_blocks(image, goal_of(image, file), (uint32_t)needed - file->map_count, blocks + file->map_count);

	if (error)
		return error;
	file->map_count = (uint32_t)needed;
	qsort(file->map_blocks, needed, sizeof(*file->map_blocks), by_number);
	return 0;
}

static errcode_t place_directory(struct image *image, struct file_set *set)
{
	struct directory_layout *layout = NULL;
	struct listing listing = { 0 };
	uint64_t goal = goal_of(image, &set->directory);
	uint32_t needed = 0;
	errcode_t error = list(set, &listing);

	if (!error)
		error = directory_layout(&image->format, &listing.source, 1, NULL, &needed, &layout);
	directory_layout_free(layout);
	free(listing.entries);
	if (!error)
		error = simulated_file_append_near(&set->directory, image->worker, goal, needed);
	return error ? error : place_map(image, &set->directory);
}

errcode_t file_set_place(struct image *image, struct file_set *set)
{
	errcode_t error = place_directory(image, set);

	for (size_t index = 0; !error && index < set->count; index++)
		if (set->files[index].ino)
			error = place_map(image, &set->files[index]);
	for (struct file_set *child = set->first; !error && child; child = child->next)
		error = file_set_place(image, child);
	return error;
}

/* --- Writing -------------------------------------------------------------------------------------------- */

static errcode_t write_map(struct image *image, const struct simulated_file *file, struct inode_value *value)
{
	uint32_t block_bytes = image->format.block_bytes;
	SCOPE_FREE char *blocks = malloc((size_t)file->map_count * block_bytes + 1);

	if (!blocks)
		return ENOMEM;
	errcode_t error = file_map_build(&image->format, file->ino, 0, file->map.extents, file->map.count,
	                                 file->map_blocks, value->root, blocks);

	for (uint32_t block = 0, run; !error && block < file->map_count; block += run) {
		for (run = 1;
		     block + run < file->map_count && file->map_blocks[block + run] == file->map_blocks[block] + run;
		     run++)
			;
		error = image_write_blocks(image, file->map_blocks[block], run, blocks + (size_t)block * block_bytes);
	}
	return error;
}

static errcode_t write_inode(struct image *image, const struct simulated_file *file, struct inode_value *value)
{
	SCOPE_FREE char *bytes = malloc(image->format.inode_bytes);

	if (!bytes)
		return ENOMEM;
	value->size_bytes = (uint64_t)file->blocks * image->format.block_bytes;
	value->blocks = image_charged_blocks(image, file);
	errcode_t error = write_map(image, file, value);

	if (!error)
		error = inode_encode(&image->format, file->ino, value, NULL, bytes);
	return error ? error : image_write_inode(image, file->ino, bytes);
}

/* A buffered inode is complete, but for the root of a tree whose blocks were allocated at the end. */
static errcode_t write_buffered(struct image *image, const struct simulated_file *file, struct buffered_inode *inode)
{
	errcode_t error = 0;

	if (file->map_count) {
		error = write_map(image, file, &inode->value);
		if (!error)
			error = inode_buffers_mark_dirty(image, file, inode);
	}
	return error ? error : image_write_inode(image, file->ino, inode->bytes);
}

static errcode_t write_file(struct image *image, const struct file_set *set, size_t index)
{
	struct inode_value value = simulated_inode_value(image, S_IFREG | 0644, 1);

	if (!set->files[index].ino)
		return 0;
	return set->buffers ? write_buffered(image, &set->files[index], &set->buffers->inodes[index]) :
	                      write_inode(image, &set->files[index], &value);
}

static errcode_t write_directory_blocks(struct image *image, const struct simulated_file *directory, const char *bytes)
{
	for (size_t index = 0; index < directory->map.count; index++) {
		const struct file_extent *extent = &directory->map.extents[index];
		errcode_t error = image_write_blocks(image, extent->physical, extent->count,
		                                     bytes + (size_t)extent->logical * image->format.block_bytes);

		if (error)
			return error;
	}
	return 0;
}

static errcode_t build_directory(struct image *image, const struct file_set *set, const struct directory_source *source,
                                 struct inode_value *value)
{
	uint32_t parent = set->parent ? set->parent->directory.ino : EXT2_ROOT_INO;
	SCOPE_FREE char *bytes = malloc((size_t)set->directory.blocks * image->format.block_bytes);
	struct directory_layout *layout = NULL;
	uint32_t blocks;
	errcode_t error = bytes ? directory_layout(&image->format, source, 1, NULL, &blocks, &layout) : ENOMEM;

	if (!error)
		error = directory_build(&image->format, source, layout, blocks, set->directory.ino, parent, 0, bytes);
	value->flags |= layout ? EXT2_INDEX_FL : 0;
	directory_layout_free(layout);
	return error ? error : write_directory_blocks(image, &set->directory, bytes);
}

static errcode_t write_directory(struct image *image, const struct file_set *set)
{
	struct listing listing = { 0 };
	errcode_t error = list(set, &listing);
	struct inode_value value = simulated_inode_value(image, S_IFDIR | 0755, 2 + listing.subdirectories);

	if (!error)
		error = build_directory(image, set, &listing.source, &value);
	free(listing.entries);
	return error ? error : write_inode(image, &set->directory, &value);
}

errcode_t file_set_write(struct image *image, const struct file_set *set)
{
	errcode_t error = write_directory(image, set);

	for (size_t index = 0; !error && index < set->count; index++)
		error = write_file(image, set, index);
	for (const struct file_set *child = set->first; !error && child; child = child->next)
		error = file_set_write(image, child);
	return error;
}
