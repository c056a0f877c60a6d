/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All sources of an image become one tree. */
#ifndef SOURCE_SOURCES_H
#define SOURCE_SOURCES_H

#include "source/host/directory_source.h"
#include "source/layers/merge.h"

/* How sources are laid over each other. */
struct source_layering {
	enum whiteouts whiteouts; /* of directories and archives; the layers of OCI images have their own */
	bool keeps_whiteouts;     /* as overlayfs has them, see source/layers/merge.h */
};

/*
 * Reads count sources (at least one), each as source_scan() does or, "oci:DIR[:REF]", all layers of an OCI image
 * (source/layers/oci_image.h), and merges them in this order. Archives that follow each other are read side by side, as many
 * at a time as the pool has workers, which bounds the memory that unpacking takes. tree->origins[].source numbers what
 * was merged, beginning with 0. The problem names the source and, where one is concerned, the name within.
 */
MUST_CHECK errcode_t sources_scan(const char *const *sources, uint32_t count, const struct source_layering *layering,
                                  const struct scan_options *options, struct pool *pool, struct tree **ret,
                                  struct problem *problem);

#endif
