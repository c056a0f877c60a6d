/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A leaf's entries in the order of their hashes, so that it can be split. */
#pragma once

#include "update/directory/editor_names.h"

struct hashed_entry {
	uint32_t hash;
	uint32_t offset; /* of the record */
	uint32_t bytes;  /* that the entry needs */
};

struct hashed_entries {
	struct hashed_entry *entries;
	uint32_t count;
	uint32_t used_bytes;       /* of all of them */
	struct entry_block copied; /* a copy of the leaf, which may be written meanwhile */
};

void hashed_entries_free(struct hashed_entries *hashed);

#define SCOPE_HASHED_ENTRIES __attribute__((cleanup(hashed_entries_free)))

/* Reads a sound leaf. ENOMEM, EXT2_ET_DIRHASH_UNSUPP. */
MUST_CHECK errcode_t hashed_entries_read(const struct editor_names *names, struct entry_block entries,
                                         struct hashed_entries *hashed);

/* Returns where to split, 1 to count - 1: about half of a block's bytes come after it. There are at least 2 entries. */
uint32_t hashed_entries_half(const struct hashed_entries *hashed, uint32_t block_bytes);

/* Refills a leaf with the entries [from, end), which fit. */
void hashed_entries_pack(const struct hashed_entries *hashed, const struct ondisk_format *format, uint32_t from,
                         uint32_t end, struct entry_block entries);
