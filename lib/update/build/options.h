/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user's options for an update. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "source/pack/layer_cache.h"
#include "source/owners/owner_map.h"
#include "source/sources.h"
#include "support/run/progress.h"
#include "tree/details.h"
#include "tree/exclude.h"
#include "tree/source_limits.h"

struct struct_io_manager; /* libext2fs's */

struct update_options {
	const char *image; /* the regular file or block device that has the filesystem to change */
	uint64_t offset_bytes;
	const char *const *sources; /* the sources to lay over the image, see source/sources.h */
	uint32_t source_count;
	struct source_layering layering; /* keeping is WHITEOUTS_AS_MARKS */
	const char *const *removed;      /* paths of the image */
	uint32_t removed_count;
	const char *into;     /* the image's directory that the sources' root is laid over; NULL: its root */
	bool mirrors;         /* below that directory, names that the sources lack are removed */
	bool compares_bytes;  /* files of equal size are compared byte by byte; false: see update_time_is_cut() */
	bool is_atomic;       /* the update makes all changes or none, or fails */
	bool makes_new_file;  /* the changes go into a copy of the image, which takes its name */
	bool renews_tree;     /* a hash tree of dm-verity that follows the filesystem is made anew, in a copy */
	bool is_dry_run;      /* nothing is written */
	bool lists_actions;   /* the report lists all actions */
	bool one_file_system; /* the following options are as in populate/build/options.h */
	bool all_times;
	bool zeros_of_source;
	bool has_epoch;
	int64_t epoch;
	uint64_t free_bytes;
	unsigned int free_percent;
	const char *against; /* an older image: the report says what differs from it; NULL: nothing is compared */
	uint64_t against_chunk_bytes; /* 0: no chunks are counted */
	const char *platform;         /* of container images, OS/ARCH[/VARIANT]; NULL: the host's */
	struct source_limits limits;
	uint64_t memory_bytes;
	unsigned int threads;
	const struct exclude *exclude;        /* NULL: nothing */
	struct owner_map *owners;             /* NULL: files keep the sources' owners */
	const char *metadata;                 /* NULL: none */
	struct layer_cache_place layer_cache; /* of unpacked layers */
	struct progress *progress;            /* may be NULL */
	uint64_t most_logged_blocks;       /* in a transaction; 0: as many as the journal holds. Tests need several */
	struct struct_io_manager *manager; /* for transactions; NULL: libext2mb's. Tests use one that records writes */
	struct struct_io_manager *disk;    /* through which the journal is replayed; NULL: unix_io. As manager */
};

/*
 * Is a file's time after the epoch, so that the epoch is stored in its place? Such an mtime is that of every newer
 * version, too, and says nothing of contents: they are compared. Others of equal size and mtime are the same.
 */
static inline bool update_time_is_cut(const struct update_options *options, int64_t seconds)
{
	return options->has_epoch && seconds >= options->epoch;
}

/* Returns a file's time as it is stored. */
static inline struct tree_time update_time(const struct update_options *options, struct tree_time time)
{
	return update_time_is_cut(options, time.seconds) ? (struct tree_time){ options->epoch, 0, true } : time;
}
