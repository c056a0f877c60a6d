/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many blocks everything needs, known before anything is placed. */
#ifndef POPULATE_NEEDS_H
#define POPULATE_NEEDS_H

#include "populate/build.h"

/* Nodes are looked at in chunks of this many, here and when they are placed. */
#define NODES_PER_CHUNK 4096u

static inline uint32_t build_chunk_count(const struct build *build)
{
	return (build->tree->node_count + NODES_PER_CHUNK - 1) / NODES_PER_CHUNK;
}

struct needs {
	uint64_t *chunk_clusters; /* of each chunk; an upper bound, and exact but for large or much cut files */
	uint64_t clusters; /* all together, with those of the xattr sets, which chunks share */
};

/*
 * Counts for build->format and fills in the placements' blocks, the directories' layouts and the xattr
 * stores; may be called again for another format. The problem names the first node that cannot be stored
 * (too large, too many links, an xattr too long), the same for any number of threads.
 */
MUST_CHECK errcode_t needs_count(struct build *build, uint32_t blocks_per_group, struct needs *needs,
                                 struct problem *problem);

void needs_free(struct needs *needs);

/* Frees what needs_count() filled in in build. */
void needs_release(struct build *build);

#endif
