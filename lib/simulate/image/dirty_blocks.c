/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/image/dirty_blocks.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

errcode_t dirty_blocks_open(struct dirty_blocks *dirty, size_t count)
{
	*dirty = (struct dirty_blocks){ .blocks = calloc(count ? count : 1, sizeof(*dirty->blocks)), .count = count };
	return dirty->blocks ? 0 : ENOMEM;
}

void dirty_blocks_close(struct dirty_blocks *dirty)
{
	free(TAKE(dirty->blocks));
}

void dirty_blocks_mark(struct dirty_blocks *dirty, size_t block, uint32_t commit)
{
	assert(block < dirty->count && commit);
	struct dirty_block *found = &dirty->blocks[block];

	if (found->commit == commit)
		return;
	dirty->distinct += !found->commit;
	dirty->writes++;
	found->writes++;
	found->commit = commit;
}

uint32_t dirty_blocks_most(const struct dirty_blocks *dirty)
{
	uint32_t most = 0;

	for (size_t block = 0; block < dirty->count; block++)
		if (dirty->blocks[block].writes > most)
			most = dirty->blocks[block].writes;
	return most;
}
