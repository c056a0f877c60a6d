/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Entries of an existing directory, changed where they are: those of a block, or of one of the two parts of inline
 * data. Pure. The checksum of a changed block is written by directory_block_seal().
 */
#pragma once

#include "ondisk/directory.h"
#include "ondisk/views.h"

struct entry_block {
	uint8_t *bytes;
	size_t byte_count; /* without the checksum's tail */
};

/* Those of a whole block. */
static inline struct entry_block entry_block_of(const struct ondisk_format *format, uint8_t *block)
{
	return (struct entry_block){ block, directory_block_capacity(format) };
}

/*
 * Do records follow each other up to the end, each long enough for its name, and are inode numbers at most
 * inode_count? All functions below expect it.
 */
MUST_CHECK bool entry_block_is_sound(struct entry_block entries, uint32_t inode_count);

/* Makes it one unused record, or nothing without bytes. */
void entry_block_clear(const struct ondisk_format *format, struct entry_block entries);

/* The next record, after *record; begin with zeros. False after the last. */
MUST_CHECK bool entry_block_next(struct entry_block entries, struct directory_record *record);

/* Do "." and ".." come first, the former with inode ino? The latter's record is in *parent. */
MUST_CHECK bool entry_block_dots(struct entry_block entries, uint32_t ino, struct directory_record *parent);

/* Finds a name; false: it is not here. */
MUST_CHECK bool entry_block_find(const struct ondisk_format *format, struct entry_block entries,
                                 struct directory_name name, bool is_casefolded, struct directory_record *record);

/* Adds an entry where the first gap is large enough. False: there is none. */
MUST_CHECK bool entry_block_add(const struct ondisk_format *format, struct entry_block entries,
                                struct directory_name name, struct directory_target target);

/* Fills a block anew, without gaps. */
struct entry_packer {
	struct entry_block entries;
	size_t used, last; /* bytes; the last entry's offset */
};

/* Clears the block. */
struct entry_packer entry_packer_begin(const struct ondisk_format *format, struct entry_block entries);

/* False: the entry does not fit. name is not in the block. */
MUST_CHECK bool entry_packer_put(const struct ondisk_format *format, struct entry_packer *packer,
                                 struct directory_name name, struct directory_target target);

/* Gives the entry of this record another inode. */
void entry_block_replace(const struct ondisk_format *format, struct entry_block entries,
                         const struct directory_record *record, struct directory_target target);

/* Joins the record to the one before it, or leaves it unused, and clears its bytes: the kernel does so, too. */
void entry_block_remove(struct entry_block entries, const struct directory_record *record);

/* The name and target of a record. */
static inline struct directory_name directory_record_name(const struct directory_record *record)
{
	return (struct directory_name){ record->entry.name, record->entry.name_bytes };
}

static inline struct directory_target directory_record_target(const struct directory_record *record)
{
	return (struct directory_target){ record->entry.ino, record->entry.file_type };
}
