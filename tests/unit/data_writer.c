/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "data_writer.h"

#include <stdlib.h>
#include <string.h>

#include "ext2fs/ext2mb.h"
#include "mb_image.h"
#include "seeded_random.h"
#include "unit.h"

errcode_t write_run(ext2_filsys fs, blk64_t start, unsigned int count, int byte)
{
	uint8_t *data = malloc((size_t)count * fs->blocksize);

	memset(data, byte, (size_t)count * fs->blocksize);
	errcode_t error = ext2mb_transaction_write_data(fs, start, count, data);

	free(data);
	return error;
}

void *write_in_parts(void *context)
{
	struct writer *writer = context;
	struct random random = { writer->seed };

	for (unsigned int at = 0; at < writer->count && !writer->error;) {
		unsigned int part = 1 + (unsigned int)random_below(&random, writer->most);

		if (part > writer->count - at)
			part = writer->count - at;
		writer->error = write_run(writer->fs, writer->start + at, part, writer->byte);
		at += part;
	}
	return NULL;
}

void start_writer(struct writer *writer, void *(*work)(void *context))
{
	writer->error = 0;
	ck_assert_int_eq(pthread_create(&writer->thread, NULL, work, writer), 0);
}

errcode_t join_writer(struct writer *writer)
{
	ck_assert_int_eq(pthread_join(writer->thread, NULL), 0);
	return writer->error;
}

void make_directory(ext2_filsys fs, unsigned int number)
{
	char name[16];

	snprintf(name, sizeof(name), "directory%u", number);
	ck_assert_ok(ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, name));
}

void *write_once(void *context)
{
	struct writer *writer = context;

	writer->error = write_run(writer->fs, writer->start, writer->count, writer->byte);
	return NULL;
}

blk64_t alloc_run(ext2_filsys fs, unsigned int count)
{
	blk64_t block;

	ck_assert_ok(ext2fs_get_free_blocks2(fs, 0, 0, (int)count, fs->block_map, &block));
	ext2fs_block_alloc_stats_range(fs, block, count, +1);
	return block;
}
