// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulate/dirty_blocks.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

errcode_t dirty_blocks_open(struct dirty_blocks *dirty, size_t count)
{
	*dirty = (struct dirty_blocks){ .commits = calloc(count ? count : 1, sizeof(*dirty->commits)), .count = count };
	return dirty->commits ? 0 : ENOMEM;
}

void dirty_blocks_close(struct dirty_blocks *dirty)
{
	free(TAKE(dirty->commits));
}

void dirty_blocks_mark(struct dirty_blocks *dirty, size_t block, uint32_t commit)
{
	assert(block < dirty->count && commit);
	if (dirty->commits[block] == commit)
		return;
	dirty->distinct += !dirty->commits[block];
	dirty->writes++;
	dirty->commits[block] = commit;
}
