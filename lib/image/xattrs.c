/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/xattrs.h"

#include <errno.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>

#include "image/contents.h"
#include "ondisk/posix_acl.h"
#include "ondisk/xattr_read.h"
#include "support/vector.h"

#define MOST_BYTES (16u << 20) /* of all of an inode's values */

/* One call of volume_xattrs_read(). */
struct reading {
	struct map_walker *walker;
	const struct volume_inode *inode;
	struct volume_xattrs *xattrs;
	uint64_t block; /* the block that is being read; 0: the inode */
	size_t earlier; /* how many xattrs the inode itself has, none of which may come again */
	uint64_t bytes; /* of all values */
};

static void lose(const struct reading *reading, const char *what)
{
	reading->walker->losses++;
	damage_tell(&reading->walker->damage, reading->inode->ino, reading->block, what);
}

/* True for a value that an old kernel of Lustre made: it has no hashes, but refers back to its owner. */
static bool is_of_lustre(const struct reading *reading, const struct volume_inode *value)
{
	return (uint32_t)value->all.value.mtime.seconds == reading->inode->ino &&
	       value->all.value.generation == reading->inode->all.value.generation;
}

/* Reads a value that has an inode. If the value is damaged, this reports it and sets *value to NULL. */
static errcode_t read_value_inode(struct reading *reading, const struct xattr_entry *entry, const uint8_t **value)
{
	const struct volume *volume = reading->walker->volume;
	SCOPE_FREE void *raw = malloc(volume->format.inode_bytes);
	uint8_t *bytes = arena_alloc(&reading->xattrs->arena, entry->value_bytes);
	struct volume_inode inode;

	*value = NULL;
	if (!raw || !bytes)
		return ENOMEM;
	errcode_t error = volume_inode_read(volume, entry->value_ino, raw, &inode);

	if (error == EXT2_ET_BAD_INODE_NUM || error == EXT2_ET_INODE_CSUM_INVALID) {
		lose(reading, "inode of an xattr's value");
		return 0;
	}
	if (error)
		return error;
	if (!S_ISREG(inode.view.mode) || !(inode.view.flags & EXT4_EA_INODE_FL) || !inode.view.links ||
	    inode.all.value.size_bytes != entry->value_bytes) {
		lose(reading, "inode of an xattr's value");
		return 0;
	}
	error = contents_read(reading->walker, &inode, 0, bytes, entry->value_bytes);
	if (error == EUCLEAN)
		return 0;
	if (error)
		return error;
	uint32_t hash = xattr_value_hash(&volume->format, bytes, entry->value_bytes);

	if (!is_of_lustre(reading, &inode) &&
	    (hash != (uint32_t)inode.all.value.atime.seconds || xattr_entry_differs(entry, hash))) {
		lose(reading, "hash of an xattr's value");
		return 0;
	}
	*value = bytes;
	return 0;
}

/*
 * Copies the value into the arena, since the block's bytes do not stay. If it is not a valid ACL, this reports it and
 * leaves item->value NULL.
 */
static errcode_t copy_value(struct reading *reading, const struct xattr_entry *entry, const uint8_t *value,
                            struct volume_xattr *item)
{
	bool is_acl = xattr_entry_is_acl(entry);

	item->value_bytes = entry->value_bytes;
	if (is_acl && posix_acl_decode_measure(value, entry->value_bytes, &item->value_bytes)) {
		lose(reading, "ACL");
		return 0;
	}
	uint8_t *copy = arena_alloc(&reading->xattrs->arena, item->value_bytes + 1);

	if (!copy)
		return ENOMEM;
	if (is_acl)
		posix_acl_decode(value, entry->value_bytes, copy);
	else
		memcpy(copy, value, entry->value_bytes);
	item->value = copy;
	return 0;
}

static bool is_known(const struct reading *reading, const char *name)
{
	for (size_t n = 0; n < reading->earlier; n++)
		if (reading->xattrs->items[n].name && !strcmp(reading->xattrs->items[n].name, name))
			return true;
	return false;
}

/* True if names with this index are known. An xattr with another index cannot be judged. */
static bool has_prefix(uint8_t name_index)
{
	char name[XATTR_WHOLE_NAME_BYTES];

	return xattr_entry_name(&(struct xattr_entry){ "", 0, name_index, NULL, 0, 0, 0 }, name) ||
	       xattr_entry_name(&(struct xattr_entry){ "x", 1, name_index, NULL, 0, 0, 0 }, name);
}

/* Returns false, after reporting it, if the entry is damaged. */
static bool is_possible(struct reading *reading, const struct xattr_entry *entry, const char *name)
{
	const char *what = has_prefix(entry->name_index) && !name             ? "name of an xattr" :
	                   name && is_known(reading, name)                    ? "xattr that comes twice" :
	                   entry->value_bytes > XATTR_SIZE_MAX                ? "size of an xattr" :
	                   reading->bytes + entry->value_bytes > MOST_BYTES   ? "size of all xattrs" :
	                   !entry->value_ino && xattr_entry_differs(entry, 0) ? "hash of an xattr" :
	                                                                        NULL;

	if (what)
		lose(reading, what);
	return !what;
}

static errcode_t read_entry(struct reading *reading, const struct xattr_entry *entry)
{
	struct volume_xattrs *xattrs = reading->xattrs;
	char name[XATTR_WHOLE_NAME_BYTES];
	bool has_name = xattr_entry_name(entry, name);
	struct volume_xattr item = { .name_index = entry->name_index };
	const uint8_t *value = entry->value;
	errcode_t error = 0;

	if (!is_possible(reading, entry, has_name ? name : NULL))
		return 0;
	reading->bytes += entry->value_bytes;
	if (entry->value_ino)
		error = read_value_inode(reading, entry, &value);
	if (!error && value)
		error = copy_value(reading, entry, value, &item);
	if (error || !item.value)
		return error;
	if (has_name) {
		item.name = arena_copy_string(&xattrs->arena, name, strlen(name));
		if (!item.name)
			return ENOMEM;
	}
	error = vector_reserve(&xattrs->items, &xattrs->capacity, xattrs->count + 1, sizeof(*xattrs->items));
	if (!error)
		xattrs->items[xattrs->count++] = item;
	return error;
}

static errcode_t read_entries(struct reading *reading, struct xattr_cursor *cursor)
{
	struct xattr_entry entry;

	while (xattr_entries_next(cursor, &entry)) {
		errcode_t error = xattr_entry_is_inline_data(&entry) ? 0 : read_entry(reading, &entry);

		if (error)
			return error;
	}
	if (cursor->is_damaged)
		lose(reading, reading->block ? "entries of xattrs in a block" : "entries of xattrs in an inode");
	return 0;
}

static errcode_t read_block(struct reading *reading)
{
	const struct volume *volume = reading->walker->volume;
	SCOPE_FREE uint8_t *bytes = malloc(volume->format.block_bytes);
	struct xattr_cursor cursor;

	reading->block = reading->inode->view.xattr_block;
	if (!bytes)
		return ENOMEM;
	if (!volume_has_blocks(volume, reading->block, 1) || volume_read(volume, reading->block, 1, bytes)) {
		lose(reading, "block of xattrs");
		return 0;
	}
	const char *wrong = xattr_start_block(&volume->format, reading->block, bytes, &cursor);

	if (wrong) {
		lose(reading, wrong);
		return 0;
	}
	reading->earlier = reading->xattrs->count;
	return read_entries(reading, &cursor);
}

errcode_t volume_xattrs_read(struct map_walker *walker, const struct volume_inode *inode, struct volume_xattrs *xattrs)
{
	struct xattr_cursor cursor = xattr_start_inode(&walker->volume->format, inode->raw);
	struct reading reading = { .walker = walker, .inode = inode, .xattrs = xattrs };

	xattrs->count = 0;
	arena_destroy(&xattrs->arena);
	errcode_t error = read_entries(&reading, &cursor);

	return error || !inode->view.xattr_block ? error : read_block(&reading);
}

void volume_xattrs_free(struct volume_xattrs *xattrs)
{
	free(xattrs->items);
	arena_destroy(&xattrs->arena);
	*xattrs = (struct volume_xattrs){ 0 };
}
