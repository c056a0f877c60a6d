/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The image of tests/unit/mb_image.h, opened for transactions, and what is really in its file. */
#pragma once

#include "mb_image.h"

#include "ext2fs/ext2mb.h"

#define MOST_BLOCK_BYTES 4096

/* Opened with ext2mb_transaction_io_manager(flags), and its bitmaps read. */
ext2_filsys transaction_image_open(uint64_t flags);

/* Returns the error of opening it for writing; success is a failure of the test. */
errcode_t transaction_image_refused(uint64_t flags);

struct ext2mb_transaction_info transaction_image_info(ext2_filsys fs);

/* A block's bytes on disk and as the program reads them; valid until the next call. */
const uint8_t *block_on_disk(ext2_filsys fs, blk64_t block);
const uint8_t *block_read(ext2_filsys fs, blk64_t block);

/* Fills a whole block with that byte, through libext2fs's channel. */
errcode_t block_fill(ext2_filsys fs, blk64_t block, int byte);

/* Whether the block on disk consists of that byte. */
bool is_filled_on_disk(ext2_filsys fs, blk64_t block, int byte);

/* The first free block, and a block that is in use and could hold anything: one of lost+found. */
blk64_t some_free_block(ext2_filsys fs);
blk64_t some_used_block(ext2_filsys fs);

/* All of the file, and its size; the caller frees it. */
uint8_t *whole_image(size_t *bytes);

/* Runs a command of the shell, in which $IMAGE is the image's path; it must succeed. */
void run_on_image(const char *command);
