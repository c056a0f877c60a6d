/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory inside its inode: the parent's number, entries in the rest of i_block, and further ones in system.data.
 */
#pragma once

#include "ondisk/entry_block.h"

struct editor_inline {
	uint8_t *bytes; /* room_bytes of them, owned */
	uint32_t byte_count, room_bytes;
	bool is_changed;
};

/* Copies the data. EXT2_ET_DIR_CORRUPTED, ENOMEM; EINVAL if the room is less than the data. */
MUST_CHECK errcode_t editor_inline_open(struct editor_inline *data, const void *bytes, uint32_t byte_count,
                                        uint32_t room_bytes, uint32_t inode_count);
void editor_inline_close(struct editor_inline *data);

#define INLINE_PARTS 2u

/* Returns one of the two parts that hold entries. */
struct entry_block editor_inline_part(const struct editor_inline *data, unsigned int part);

uint32_t editor_inline_parent(const struct editor_inline *data);
void editor_inline_set_parent(struct editor_inline *data, uint32_t ino);

/* Adds an entry; system.data grows if it must and can. Returns false if there is no room. */
MUST_CHECK bool editor_inline_add(struct editor_inline *data, const struct ondisk_format *format,
                                  struct directory_name name, struct directory_target target);

/* Writes all entries to a block, "." and ".." first. Returns false if they do not fit. */
MUST_CHECK bool editor_inline_unpack(const struct editor_inline *data, const struct ondisk_format *format, uint32_t ino,
                                     struct entry_block entries);
