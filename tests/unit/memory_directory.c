/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "memory_directory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mb_image.h"
#include "ondisk/index_block.h"

static struct memory_directory *of_sink(struct sink *sink)
{
	return (struct memory_directory *)((char *)sink - offsetof(struct memory_directory, sink));
}

static uint8_t *block_at(struct memory_directory *directory, uint64_t block)
{
	return directory->bytes + block * directory->format.block_bytes;
}

static errcode_t read_memory(struct sink *sink, uint64_t block, uint32_t count, void *bytes)
{
	struct memory_directory *directory = of_sink(sink);

	if (directory->is_unreadable)
		return EIO;
	ck_assert_uint_le(block + count, directory->most_blocks);
	memcpy(bytes, block_at(directory, block), (size_t)count * directory->format.block_bytes);
	return 0;
}

static errcode_t write_memory(struct sink *sink, uint64_t block, uint32_t count, const void *bytes)
{
	struct memory_directory *directory = of_sink(sink);

	ck_assert_uint_le(block + count, directory->most_blocks);
	memcpy(block_at(directory, block), bytes, (size_t)count * directory->format.block_bytes);
	directory->writes += count;
	return 0;
}

static const struct sink_operations operations = { .read = read_memory, .write = write_memory };

void memory_directory_make(struct memory_directory *directory, uint32_t block_bytes, bool checksums)
{
	*directory = (struct memory_directory){
		.sink = { &operations, block_bytes, SINK_CACHED_BYTES },
		.format = {
			.block_bytes = block_bytes,
			.block_bits = (unsigned int)__builtin_ctz(block_bytes),
			.inode_bytes = 256,
			.hash_version = EXT2_HASH_HALF_MD4,
			.hash_seed = { 1, 2, 3, 4 },
			.checksum_seed = 99,
			.checksums = checksums,
			.extents = true,
			.dir_index = true,
			.filetype = true,
		},
		.blocks_left = -1,
	};
}

void memory_directory_fill(struct memory_directory *directory, struct name_set *set, uint32_t more_blocks)
{
	const struct directory_source source = name_set_source(set);
	struct directory_layout *layout;

	set->first_ino = 100;
	set->ino_count = 800;
	ck_assert_ok(directory_layout(&directory->format, &source, 0, NULL, &directory->blocks, &layout));
	directory->most_blocks = directory->blocks + more_blocks;
	directory->bytes = calloc(directory->most_blocks, directory->format.block_bytes);
	ck_assert_ok(directory_build(&directory->format, &source, layout, directory->blocks, MEMORY_INO,
	                             MEMORY_PARENT_INO, MEMORY_GENERATION, directory->bytes));
	directory->flags = EXT4_EXTENTS_FL | (layout ? EXT2_INDEX_FL : 0);
	directory_layout_free(layout);
}

void memory_directory_free(struct memory_directory *directory)
{
	free(directory->bytes);
}

static errcode_t allocate(void *context, uint32_t logical, uint64_t goal, uint32_t count, uint64_t *start,
                          uint32_t *got)
{
	struct memory_directory *directory = context;
	uint32_t block = directory->blocks + directory->taken + directory->gaps;

	(void)logical;
	(void)goal;
	if (!directory->blocks_left || block >= directory->most_blocks)
		return ENOSPC;
	*start = block;
	*got = count > 2 ? 2 : count;
	if (*got > directory->most_blocks - block)
		*got = 1;
	if (directory->blocks_left > 0 && *got > directory->blocks_left)
		*got = (uint32_t)directory->blocks_left;
	directory->blocks_left -= *got;
	directory->taken += *got;
	directory->gaps += directory->gap_blocks;
	return 0;
}

struct directory_editor_options memory_directory_options(struct memory_directory *directory, struct file_extent *extent)
{
	*extent = (struct file_extent){ 0, directory->blocks, 0 };
	return (struct directory_editor_options){
		.sink = &directory->sink,
		.format = &directory->format,
		.inode_count = MEMORY_INODES,
		.ino = MEMORY_INO,
		.generation = MEMORY_GENERATION,
		.flags = directory->flags,
		.size_bytes = (uint64_t)directory->blocks << directory->format.block_bits,
		.extents = extent,
		.extent_count = 1,
		.allocate = allocate,
		.context = directory,
	};
}

errcode_t memory_directory_open(struct memory_directory *directory, struct directory_editor **editor)
{
	struct file_extent extent;
	const struct directory_editor_options options = memory_directory_options(directory, &extent);

	return directory_editor_open(&options, editor);
}

void memory_directory_seal(struct memory_directory *directory, uint32_t block)
{
	const struct ondisk_format *format = &directory->format;
	uint32_t seed = ondisk_inode_seed(format, MEMORY_INO, MEMORY_GENERATION);
	struct index_block index;
	struct index_info info;

	if (!index_root_read(format, MEMORY_INO, block_at(directory, block), &index, &info) ||
	    !index_node_read(format, block_at(directory, block), &index))
		index_block_seal(format, &index, seed);
	else
		directory_block_seal(format, block_at(directory, block), seed);
}
