/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sources of a program, with all that it wants of them: they are read into one tree, to which its options are then
 * applied. */
#pragma once

#include "source/owners/owner_map.h"
#include "source/kind/source_kind.h"
#include "source/sources.h"

/*
 * Returns the default of memory_bytes: little, since many builds may share a host, and the page cache holds what goes
 * to the temporary file as well; a quarter of the memory available where that is less.
 */
uint64_t source_usual_memory(void);

struct source_reading {
	const char *const *sources;
	uint32_t source_count;
	struct source_layering layering;
	const char *outputs[SCAN_OUTPUTS]; /* what will be written: it is left out where it lies in a source; all
	                                      but the image may be NULL */
	const struct scan_options *scan; /* what is asked for; the members for limits, memory and image are set here */
	struct source_limits limits;     /* of what others may have made */
	uint64_t memory_bytes;           /* as much of what is unpacked stays in memory until it is copied */
	unsigned int threads;
	struct owner_map *owners; /* NULL: owners stay the sources' */
	const char *metadata;     /* a manifest for source/manifest/metadata.h; NULL: none */
};

/* Reads the sources as they are: owners and metadata are not used. Errors of sources_scan(). */
MUST_CHECK errcode_t sources_read_unchanged(const struct source_reading *reading, struct pool *pool, struct tree **ret,
                                            struct problem *problem);

/* The same as sources_look_at(), with the outputs left out. */
MUST_CHECK errcode_t sources_look(const struct source_reading *reading, struct pool *pool, struct problem *problem);

/* Errors of sources_scan(), owner_map_apply() and metadata_apply(). */
MUST_CHECK errcode_t sources_read(const struct source_reading *reading, struct pool *pool, struct tree **ret,
                                  struct problem *problem);
