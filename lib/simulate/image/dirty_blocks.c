/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/image/dirty_blocks.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
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

/* How many writebacks come before this change. */
static uint64_t writebacks_before(const struct writeback *writeback, uint64_t change)
{
	return (change + writeback->changes / 2) / (writeback->commits * writeback->changes);
}

void dirty_blocks_change(struct dirty_blocks *placed, const struct writeback *writeback, size_t block, uint32_t change)
{
	assert(block < placed->count);
	struct dirty_block *found = &placed->blocks[block];

	if (found->commit) {
		uint64_t before = found->commit - 1, next = writebacks_before(writeback, before) + 1;
		uint64_t last = writebacks_before(writeback, change);
		bool is_running = before / writeback->changes + 1 == next * writeback->commits;

		if (last > next || (last == next && !is_running)) {
			placed->writes++;
			found->writes++;
		}
	}
	found->commit = change + 1;
}

void dirty_blocks_write_rest(struct dirty_blocks *placed)
{
	for (size_t block = 0; block < placed->count; block++) {
		if (!placed->blocks[block].commit)
			continue;
		placed->distinct++;
		placed->writes++;
		placed->blocks[block].writes++;
	}
}

uint32_t dirty_blocks_most(const struct dirty_blocks *dirty)
{
	uint32_t most = 0;

	for (size_t block = 0; block < dirty->count; block++)
		if (dirty->blocks[block].writes > most)
			most = dirty->blocks[block].writes;
	return most;
}
