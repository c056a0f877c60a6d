/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hashes contents for fs-verity while they are in memory, and writes the hashes. A file that is copied as a whole has
 * its tree in its worker's memory; the slices of a large file share one, and the worker that ends the last of them does
 * what is left: everything above the hashes of the data, which is less than a hundredth of the work.
 */
#pragma once

#include "contents/protection.h"
#include "image/run_writer.h"
#include "tree/contents.h"

/* A tree is in memory up to this size, and else in a temporary file that is mapped. */
#define PROTECT_MOST_MEMORY_BYTES (UINT64_C(64) << 20)

/* A tree that several workers fill. */
struct shared_tree {
	struct hash_tree tree;
	uint8_t *memory;
	bool is_mapped;
};

/* One worker's state. Zero-initialise. */
struct protect_worker {
	struct hash_tree tree; /* for a file that is not shared; what it takes to hash once is kept from file to file */
	struct verity_value form; /* that it has been made for */
	uint8_t *memory;          /* of it; owned */
	size_t capacity;
	uint8_t *tail; /* the blocks with the descriptor; owned */
	size_t tail_capacity;
	uint8_t *read; /* what is read to be hashed alone; owned */
	/* The file that is being hashed: */
	struct protected_file *file; /* NULL: none is */
	struct hash_tree *current;
	uint8_t *current_memory;
	struct verity_value value;
};

void protect_worker_free(struct protect_worker *own);

/*
 * A file, or one of its slices, is about to be read; what is one whole slice may be large, too. directory: where a
 * temporary file may be. A file that is not protected costs nothing. Errors: ENOMEM, those of the temporary file.
 */
MUST_CHECK errcode_t protect_begin(const struct protection *protection, struct protect_worker *own, uint32_t node,
                                   bool is_slice, const char *directory);

/* Bytes of that file, from the beginning of one of the filesystem's blocks on; up to the end of one, or of the file. */
static inline void protect_hash(const struct protect_worker *own, const void *bytes, size_t count,
                                uint64_t offset_bytes)
{
	if (own->file && count)
		hash_tree_hash_data(
			own->current, bytes, count,
			own->current_memory +
				hash_tree_leaf(own->current, offset_bytes >> own->current->data_block_bits));
}

/* The same for bytes that are in the image without having been read: the reader's open file is read for it. */
MUST_CHECK errcode_t protect_read(struct protect_worker *own, struct content_reader *reader, uint64_t offset_bytes,
                                  uint64_t count, struct problem *problem);

/*
 * All of the file, or of the slice, has been hashed, but its holes; extents are those of the file. After the last
 * slice, or if there are none, the digest is known and the hashes are written. EINVAL: it is not the digest that the
 * file should have; the problem names the file.
 */
MUST_CHECK errcode_t protect_end(const struct protection *protection, struct protect_worker *own,
                                 const struct file_extent *extents, uint32_t count, struct run_writer *writer,
                                 struct problem *problem);

/* The same without writing: the bytes of all blocks that protect the file follow from protect_tree() and
 * protect_tail(). */
MUST_CHECK errcode_t protect_finish(const struct protection *protection, struct protect_worker *own,
                                    const struct file_extent *extents, uint32_t count, struct problem *problem);

/* Frees the tree that the file's slices share, if it has one and protect_end() is not called. */
void protect_drop(struct protect_worker *own);

/* Frees trees that slices share, after a failure. */
void protect_release(const struct protection *protection);
