/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A directory's blocks: linear when they fit one block, otherwise htree-indexed from the start (dir_index).
 * Values in, bytes out. Laying out needs only the names, so the size is known before any inode number is.
 * Nothing is shared between calls: threads may work on different directories at the same time.
 */
#pragma once

#include <stddef.h>

#include "ondisk/format.h"

/* A name as the caller has it; entries are passed as an accessor so that a million names need not be copied. */
struct directory_name {
	const char *name;     /* any bytes but '/' and NUL; in an encrypted directory any bytes */
	uint8_t length_bytes; /* 1 to 255 */
};

struct directory_target {
	uint32_t ino;
	uint8_t file_type; /* EXT2_FT_* ; ignored without the filetype feature */
};

/* A name's hashes, by which htree sorts; bit 0 of the first is 0. */
struct directory_hashes {
	uint32_t hash, minor;
};

/* The entries of one directory, numbered from 0, in the order for a linear directory. */
struct directory_source {
	const void *context;
	uint32_t count; /* without "." and ".." */
	struct directory_name (*name)(const void *context, uint32_t entry);
	struct directory_target (*target)(const void *context, uint32_t entry); /* called by directory_build() only */
	/*
	 * Announces that the other two will soon be called for this entry; may be NULL. Called twice, the second time
	 * (is_close) when memory that the first call prefetched should be there. Hash order jumps among millions of
	 * names, and waiting for each was half of the time of building such a directory.
	 */
	void (*expect)(const void *context, uint32_t entry, bool is_close);
	/*
	 * Gives the hashes that entries of an encrypted and casefolded directory store, since only a key can compute
	 * them. NULL: hashes are computed, and not stored.
	 */
	struct directory_hashes (*hashes)(const void *context, uint32_t entry);
	bool is_casefolded; /* the directory is to carry EXT4_CASEFOLD_FL; needs the format's encoding */
};

struct directory_layout; /* the place of each entry */

/*
 * Lays the names out. *blocks: the size of the directory in blocks. A directory that fits max(1, minimum_blocks)
 * blocks is linear, in the caller's order, and has that many, the surplus empty (lost+found is kept large). A larger
 * one is indexed, its entries ordered by hash, its leaves packed full; without dir_index it is linear over several
 * blocks. *ret is NULL for a linear directory, otherwise the directory is to carry EXT2_INDEX_FL, and the caller
 * frees it with directory_layout_free(): 4 bytes an entry and 8 a leaf; 16 bytes an entry while this runs. earlier: a
 * layout of the same source, perhaps in another format, whose order of hashes is taken over if it is the same, since
 * computing hashes and their order is most of the time; the caller still frees that layout. NULL: none. Errors:
 * ENOMEM; EFBIG (more than the index can hold, the root and one level of nodes below it, two with large_dir; or 2 GiB
 * without large_dir); EXT2_ET_DIRHASH_UNSUPP (the format's hash version). Does not check that names are distinct.
 */
MUST_CHECK errcode_t directory_layout(const struct ondisk_format *format, const struct directory_source *source,
                                      uint32_t minimum_blocks, struct directory_layout *earlier, uint32_t *blocks,
                                      struct directory_layout **ret);

/*
 * Can the names be those of a casefolded directory? EEXIST: two of them, `first` and `second`, differ only by case;
 * EILSEQ: `first` is not valid in the encoding. The kernel accepts such a name unless the encoding is strict, but
 * libext2fs 1.47.0 has no hash for many of them, and e2fsck then reports a damaged index. Also ENOMEM.
 */
MUST_CHECK errcode_t directory_check_casefold(const struct ondisk_format *format, const struct directory_source *source,
                                              uint32_t *first, uint32_t *second);

/*
 * Returns how many bytes of inline data hold the entries: 60 (i_block alone) to room_bytes; 0: they do not fit.
 * room_bytes is inline_data_room()'s. Stops at the first entry that does not fit.
 */
uint32_t directory_inline_bytes(const struct directory_source *source, uint32_t room_bytes);

/*
 * Writes the inline data of a directory, bytes as directory_inline_bytes() gave them: the parent's number instead of
 * "." and "..", then the entries in the caller's order. There is no checksum but the inode's. Errors: EINVAL as for
 * directory_build().
 */
MUST_CHECK errcode_t directory_build_inline(const struct ondisk_format *format, const struct directory_source *source,
                                            uint32_t parent_ino, void *data, uint32_t bytes);

void directory_layout_free(struct directory_layout *layout);

/*
 * Writes the directory's blocks, block_bytes * blocks bytes, checksums of inode ino with this generation included.
 * layout and blocks are directory_layout()'s for the same source. Errors: EINVAL (an inode number 0, an empty name,
 * or more entries than in the layout); bytes are undefined then.
 */
MUST_CHECK errcode_t directory_build(const struct ondisk_format *format, const struct directory_source *source,
                                     const struct directory_layout *layout, uint32_t blocks, uint32_t ino,
                                     uint32_t parent_ino, uint32_t generation, void *bytes);

/*
 * A name's hash and minor hash, by which htree sorts names. Errors: EXT2_ET_DIRHASH_UNSUPP (a hash version that needs a
 * key or is not known).
 */
MUST_CHECK errcode_t directory_hash(const struct ondisk_format *format, const struct directory_name *name,
                                    bool is_casefolded, uint32_t *hash, uint32_t *minor);

/* Are two names one? Byte for byte, or with is_casefolded as well if they differ by case only. */
MUST_CHECK bool directory_is_same_name(const struct ondisk_format *format, struct directory_name one,
                                       struct directory_name other, bool is_casefolded);

/* The least size of an entry: 8 bytes and the name, rounded up to 4, after which the hashes come where they are stored.
 */
static inline uint32_t directory_entry_bytes(uint8_t name_length_bytes)
{
	return (8u + name_length_bytes + 3) & ~3u;
}

/* The bytes of a block for entries: all, or all but the checksum's tail. */
static inline uint32_t directory_block_capacity(const struct ondisk_format *format)
{
	return format->block_bytes - (format->checksums ? sizeof(struct ext2_dir_entry_tail) : 0);
}

/* The most blocks of a directory: without large_dir an inode has 32 bits for its size, and e2fsck calls 2 GiB the end.
 */
static inline uint32_t directory_most_blocks(const struct ondisk_format *format)
{
	return format->large_dir ? UINT32_MAX : 1u << (31 - format->block_bits);
}

/* Writes the checksum's tail of a block of entries, if there is one. */
void directory_block_seal(const struct ondisk_format *format, uint8_t *block, uint32_t inode_seed);

/* Writes the root of an index with one leaf, block 1; its checksum is not there yet. */
void directory_index_begin(const struct ondisk_format *format, uint32_t ino, uint32_t parent_ino, uint8_t *block);
