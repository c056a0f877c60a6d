/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes blocks one after the other; adjacent ones in one call. */
#pragma once

#include <stdbool.h>

#include <ext2fs/ext2fs.h>

#include "support/problem.h"

struct block_writer {
	io_channel backing; /* in blocks of block_bytes */
	uint32_t block_bytes;
	uint8_t *buffer; /* owned */
	uint64_t start;
	uint32_t count, most; /* blocks in the buffer, and its capacity */
};

MUST_CHECK errcode_t block_writer_init(struct block_writer *writer, io_channel backing, uint32_t block_bytes);

/* Copies a block, to be written by a later call. */
MUST_CHECK errcode_t block_writer_add(struct block_writer *writer, uint64_t block, const void *data);

/* Writes the remaining blocks. */
MUST_CHECK errcode_t block_writer_finish(struct block_writer *writer);
void block_writer_destroy(struct block_writer *writer);
