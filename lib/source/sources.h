/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All sources of an image become one tree. */
#pragma once

#include "source/layers/merge.h"
#include "source/tree/source_kind.h"

/* How sources are laid over each other. */
struct source_layering {
	enum whiteout_form whiteouts; /* of directories and archives; the layers of OCI images have their own */
	bool keeps_whiteouts;     /* as overlayfs has them, see source/layers/merge.h */
};

/*
 * Reads count sources (at least one), of an image each of its layers, and merges them in this order. Archives and
 * manifests that follow each other are read side by side, as many at a time as the pool has workers, which bounds the
 * memory that unpacking takes. tree->origins[].source numbers what was merged, beginning with 0. The problem names the
 * source and, where one is concerned, the name within.
 */
MUST_CHECK errcode_t sources_scan(const char *const *sources, uint32_t count, const struct source_layering *layering,
                                  const struct scan_options *options, struct pool *pool, struct tree **ret,
                                  struct problem *problem);
