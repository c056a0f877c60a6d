/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A block_access (ondisk/block_access.h) through a sink: inodes, maps and quota files of an existing filesystem are
 * read, changed and written as metadata of the sink's step. libext2fs keeps some inodes in memory: after writes here,
 * ext2fs_flush_icache() comes before its functions that read inodes (libext2mb's own functions do that).
 */
#pragma once

#include "ext2fs/ext2mb.h"
#include "image/sink.h"
#include "image/volume.h"
#include "ondisk/block_access.h"
#include "ondisk/quota_file.h"

struct sink_access {
	struct block_access access;
	struct sink *sink;            /* borrowed, as all of these */
	const struct volume *volume;  /* of the same filesystem, read before the first step */
	struct ext2mb_worker *worker; /* allocates and frees blocks */
	uint32_t *written;            /* owned: of each group's inode table */
};

/* worker NULL: no block can be allocated or freed. ENOMEM; after an error there is nothing to be closed. */
MUST_CHECK errcode_t sink_access_open(struct sink_access *access, struct sink *sink, const struct volume *volume,
                                      struct ext2mb_worker *worker);
void sink_access_close(struct sink_access *access);

/* The numbers of the quota files; all 0 without the feature quota. */
void sink_access_quota_inodes(const struct volume *volume, uint32_t quota_inodes[QUOTA_TYPES]);
