/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/directory_walk.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ondisk/inode.h"
#include "support/poison.h"

#define BUFFER_BYTES 65536    /* at least a block of the largest size */
#define INLINE_PARENT_BYTES 4 /* precedes the entries in i_block: the parent's inode number, as in .. */

struct walk {
	struct directory_walker *walker;
	uint32_t ino;
	const struct directory_visitor *visitor;
	struct directory_shape *shape;
	uint32_t seed; /* seeds checksums; valid in strict walks */
	bool has_self; /* . was met */
	bool is_encrypted;
	bool has_hashes; /* each entry stores the hashes of its name */
};

errcode_t directory_walker_open(const struct volume *volume, struct damage_listener damage, uint64_t *map_blocks_read,
                                uint64_t *directory_blocks_read, struct directory_walker *walker)
{
	errcode_t error = map_walker_open(volume, damage, map_blocks_read, &walker->map);

	if (error)
		return error;
	walker->blocks_read = directory_blocks_read;
	walker->bytes = malloc(BUFFER_BYTES);
	if (walker->bytes)
		return 0;
	map_walker_close(&walker->map);
	return ENOMEM;
}

void directory_walker_close(struct directory_walker *walker)
{
	map_walker_close(&walker->map);
	free(walker->bytes);
	walker->bytes = NULL;
}

static bool is_dot(const struct directory_entry *entry)
{
	return entry->name_bytes && entry->name[0] == '.' &&
	       (entry->name_bytes == 1 || (entry->name_bytes == 2 && entry->name[1] == '.'));
}

static void lose(const struct walk *walk, uint64_t block, const char *what)
{
	walk->walker->map.losses++;
	damage_tell(&walk->walker->map.damage, walk->ino, block, what);
}

static bool is_strict(const struct walk *walk)
{
	return walk->walker->map.is_strict;
}

/* Only strict walks refuse a wrong . or .. */
static void read_dot(struct walk *walk, const struct directory_entry *entry, uint64_t block)
{
	bool is_self = entry->name_bytes == 1;
	bool is_right = is_self ? !walk->has_self && entry->ino == walk->ino :
	                          !walk->shape->parent && entry->ino <= walk->walker->map.volume->inodes;

	if (is_right && !is_self)
		walk->shape->parent = entry->ino;
	walk->has_self = walk->has_self || is_self;
	if (!is_right && is_strict(walk))
		lose(walk, block, is_self ? "directory's ." : "directory's ..");
}

/* True if a strict walk may show the entry. */
static bool is_possible(const struct walk *walk, const struct directory_entry *entry)
{
	const struct volume *volume = walk->walker->map.volume;

	if (!entry->name_bytes || entry->ino > volume->inodes || entry->ino == EXT2_ROOT_INO ||
	    volume_owns_inode(volume, entry->ino) || (walk->has_hashes && !directory_entry_stored_hashes(entry)))
		return false;
	return walk->is_encrypted ||
	       (!memchr(entry->name, '\0', entry->name_bytes) && !memchr(entry->name, '/', entry->name_bytes));
}

static void read_entries(struct walk *walk, const uint8_t *bytes, size_t count, uint64_t block)
{
	struct directory_cursor cursor = { .bytes = bytes, .byte_count = count };
	struct directory_entry entry;
	const bool may_refuse = is_strict(walk);

	while (directory_entries_next(&cursor, &entry)) {
		if (is_dot(&entry)) {
			read_dot(walk, &entry, block);
			continue;
		}
		if (may_refuse && !is_possible(walk, &entry)) {
			lose(walk, block, "entry of a directory");
			continue;
		}
		walk->shape->entries++;
		walk->visitor->entry(walk->visitor->context, &entry);
	}
	if (cursor.is_damaged)
		lose(walk, block, "directory block");
}

static void read_blocks(struct walk *walk, uint64_t logical, uint64_t block, uint32_t count)
{
	struct directory_walker *walker = walk->walker;
	const struct volume *volume = walker->map.volume;
	size_t block_bytes = volume->format.block_bytes;
	uint64_t read = __atomic_add_fetch(walker->blocks_read, count, __ATOMIC_RELAXED);

	if (read > volume->geometry.end_block) {
		lose(walk, block, "directory block that belongs to several directories");
		return;
	}
	if (volume_read(volume, block, count, walker->bytes)) {
		lose(walk, block, "directory block");
		return;
	}
	if (!logical && walk->shape->is_indexed) {
		int levels = directory_entries_index_levels(walker->bytes, block_bytes);

		walk->shape->index_levels = levels < 0 ? 0 : (unsigned int)levels;
	}
	for (uint32_t n = 0; n < count; n++) {
		const uint8_t *bytes = walker->bytes + n * block_bytes;

		poison_hide_others(walker->bytes, BUFFER_BYTES, bytes, block_bytes);
		if (is_strict(walk) && !directory_block_checksum_fits(&volume->format, walk->seed, bytes))
			lose(walk, block + n, "checksum of a directory block");
		else
			read_entries(walk, bytes, block_bytes, block + n);
	}
	poison_show(walker->bytes, BUFFER_BYTES);
}

static bool read_record(void *context, const struct map_record *record)
{
	struct walk *walk = context;
	uint32_t most = BUFFER_BYTES >> walk->walker->map.volume->format.block_bits;

	if (walk->visitor->record)
		walk->visitor->record(walk->visitor->context, record);
	/* The kernel reads a block of a directory where it lies, whether or not its extent is unwritten. */
	for (uint32_t done = 0; done < record->count;) {
		uint32_t count = record->count - done < most ? record->count - done : most;

		read_blocks(walk, record->logical + done, record->physical + done, count);
		done += count;
	}
	return true;
}

static void read_inline(struct walk *walk, const void *raw, const struct inode_view *inode)
{
	size_t count;
	const uint8_t *rest = inode_view_inline_rest(&walk->walker->map.volume->format, raw, &count);

	uint32_t parent;

	memcpy(&parent, inode->root, sizeof(parent));
	if (le32toh(parent) <= walk->walker->map.volume->inodes)
		walk->shape->parent = le32toh(parent);
	read_entries(walk, inode->root + INLINE_PARENT_BYTES, INODE_ROOT_BYTES - INLINE_PARENT_BYTES, 0);
	if (rest)
		read_entries(walk, rest, count, 0);
}

void directory_walk(struct directory_walker *walker, uint32_t ino, const void *raw, const struct inode_view *inode,
                    const struct directory_visitor *visitor, struct directory_shape *shape)
{
	struct walk walk = {
		.walker = walker,
		.ino = ino,
		.visitor = visitor,
		.shape = shape,
		.is_encrypted = inode->flags & EXT4_ENCRYPT_FL,
		.has_hashes = inode_view_stores_hashes(inode),
	};

	*shape = (struct directory_shape){
		.is_inline = inode->flags & EXT4_INLINE_DATA_FL,
		.is_indexed = inode->flags & EXT2_INDEX_FL,
	};
	if (walker->map.is_strict)
		walk.seed = ondisk_inode_seed(&walker->map.volume->format, ino, inode_view_generation(inode));
	if (shape->is_inline)
		read_inline(&walk, raw, inode);
	else
		map_walk(&walker->map, ino, inode, read_record, &walk, &shape->map);
}
