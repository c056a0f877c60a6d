/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packs: written from a tree, and read into one (source/pack/pack_format.h). */
#pragma once

#include "source/kind/source_kind.h"
#include "source/pack/pack_index.h"

/*
 * Writes a pack into an empty file: contents by all workers, which read them through the tree and release them, then
 * the index, and the header last. The file is on disk when this returns. name: of the pack in its cache; path: of the
 * file, for messages. ENOMEM, EFBIG and ENOTSUP of pack_index_make(); errors of reading contents and of writing; EINTR.
 */
MUST_CHECK errcode_t pack_write(int descriptor, const char *name, const char *path, const struct pack_layer *layer,
                                struct pool *pool, struct problem *problem);

/* The size of a pack. */
struct pack_summary {
	uint64_t contents_bytes, index_bytes;
	uint64_t names;
};

/*
 * Reads a pack into an empty tree, whose only origin is `source`, the path of what the pack was made of; links to
 * layers below have one of their own, and below gets them. The descriptor becomes the tree's, also after a failure.
 * EBADMSG with a reason: it is damaged, of another version, or not the pack of this name; ENOMEM, errors of read(2).
 */
MUST_CHECK errcode_t pack_read(int descriptor, const char *name, const char *path, const char *source,
                               struct tree *tree, struct links_below *below, struct pack_counts *counts,
                               struct problem *problem);

/* Reads header and index, but makes no tree; the descriptor stays the caller's. Errors as above. */
MUST_CHECK errcode_t pack_summarize(int descriptor, const char *name, const char *path, struct pack_summary *summary,
                                    struct problem *problem);

/* Compares all contents with their checksums. The descriptor stays the caller's. Errors as above; EINTR. */
MUST_CHECK errcode_t pack_check_contents(int descriptor, const char *name, const char *path, struct pool *pool,
                                         struct problem *problem);
