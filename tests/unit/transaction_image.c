/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "transaction_image.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/cleanup.h"

ext2_filsys transaction_image_open(uint64_t flags)
{
	ext2_filsys fs;

	initialize_e2mb_error_table();
	ck_assert_ok(ext2fs_open(mb_image_path(), EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0,
	                         ext2mb_transaction_io_manager(flags), &fs));
	ck_assert_ok(ext2fs_read_bitmaps(fs));
	return fs;
}

errcode_t transaction_image_refused(uint64_t flags)
{
	ext2_filsys fs;
	errcode_t error = ext2fs_open(mb_image_path(), EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0,
	                              ext2mb_transaction_io_manager(flags), &fs);

	ck_assert(error);
	return error;
}

struct ext2mb_transaction_info transaction_image_info(ext2_filsys fs)
{
	struct ext2mb_transaction_info info = { .struct_bytes = sizeof(info) };

	ck_assert_ok(ext2mb_transaction_read_info(fs, &info));
	return info;
}

const uint8_t *block_on_disk(ext2_filsys fs, blk64_t block)
{
	static uint8_t data[MOST_BLOCK_BYTES];
	SCOPE_CLOSE int file = open(mb_image_path(), O_RDONLY);

	ck_assert_int_eq(pread(file, data, fs->blocksize, (off_t)(block * fs->blocksize)), fs->blocksize);
	return data;
}

const uint8_t *block_read(ext2_filsys fs, blk64_t block)
{
	static uint8_t data[MOST_BLOCK_BYTES];

	ck_assert_ok(io_channel_read_blk64(fs->io, block, 1, data));
	return data;
}

errcode_t block_fill(ext2_filsys fs, blk64_t block, int byte)
{
	uint8_t data[MOST_BLOCK_BYTES];

	memset(data, byte, sizeof(data));
	return io_channel_write_blk64(fs->io, block, 1, data);
}

bool is_filled_on_disk(ext2_filsys fs, blk64_t block, int byte)
{
	uint8_t data[MOST_BLOCK_BYTES];

	memset(data, byte, sizeof(data));
	return memcmp(block_on_disk(fs, block), data, fs->blocksize) == 0;
}

blk64_t some_free_block(ext2_filsys fs)
{
	blk64_t block;

	ck_assert_ok(ext2fs_new_block2(fs, 0, NULL, &block));
	return block;
}

blk64_t some_used_block(ext2_filsys fs)
{
	ext2_ino_t ino;
	blk64_t block;

	ck_assert_ok(ext2fs_lookup(fs, EXT2_ROOT_INO, "lost+found", 10, NULL, &ino));
	ck_assert_ok(ext2fs_bmap2(fs, ino, NULL, NULL, 0, 1, NULL, &block));
	return block;
}

uint8_t *whole_image(size_t *bytes)
{
	SCOPE_FCLOSE FILE *file = fopen(mb_image_path(), "r");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
	*bytes = (size_t)ftell(file);
	uint8_t *data = malloc(*bytes);

	rewind(file);
	ck_assert_uint_eq(fread(data, 1, *bytes, file), *bytes);
	return data;
}

void run_on_image(const char *command)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "IMAGE='%s'; %s", mb_image_path(), command);
	ck_assert_msg(system(whole) == 0, "failed: %s", whole);
}
