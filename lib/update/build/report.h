/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report of an update, or of a dry run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "image/delta.h"
#include "ondisk/hash_tree.h"
#include "source/kind/source_kind.h"
#include "source/layers/merge.h"
#include "support/problem.h"

struct update_report {
	uint64_t added, replaced, changed, removed, unchanged; /* names; changed: only their metadata has changed */
	uint64_t data_bytes;                                   /* written as contents of files */
	uint64_t commits, logged_blocks, direct_blocks;        /* of all transactions */
	uint64_t grown_bytes;                                  /* by which the filesystem has grown, or would grow */
	uint64_t lacked_blocks, lacked_inodes;                 /* why */
	uint64_t kept_names;                                   /* names of the image in directories that were read */
	char root_hash[2 * HASH_TREE_MOST_DIGEST_BYTES + 1];   /* of dm-verity's new tree; "": there is none */
	struct delta delta;                                    /* against the older image, if one is given */
	uint32_t layers_made, layers_cached;                   /* sources of which a pack was made or was there */
	struct directory_links links;                          /* that were met */
	struct warnings warnings;
	bool skipped[SCAN_OUTPUTS]; /* the image lies in its own source, and was left out of it */
};

void update_report_clear(struct update_report *report);
