/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading the entries of a directory's block from untrusted bytes. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/cleanup.h"

/* Begin with offset 0. Blocks of an htree's index read as empty: that is how they are disguised. */
struct directory_cursor {
	const uint8_t *bytes;
	size_t byte_count; /* of the block, or of an inline directory's part */
	size_t offset;
	bool is_damaged; /* a record did not make sense, and what follows it was not read */
};

struct directory_entry {
	uint32_t ino;
	const char *name; /* within the bytes; no 0 follows it */
	uint8_t name_bytes;
};

/* The next entry that is in use, . and .. among them; false after the last. */
MUST_CHECK bool directory_entries_next(struct directory_cursor *cursor, struct directory_entry *entry);

/*
 * How many levels of index blocks an htree's first block says that there are between it and the leaves; -1 if it
 * is no such block.
 */
int directory_entries_index_levels(const void *block, size_t byte_count);
