/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user's options, and what the update did or would do. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "source/owners/owner_map.h"
#include "source/sources.h"
#include "support/run/progress.h"
#include "tree/details.h"
#include "tree/exclude.h"
#include "tree/source_limits.h"

struct struct_io_manager; /* libext2fs's */

struct update_options {
	const char *image; /* a regular file or a block device with the filesystem that is changed */
	uint64_t offset_bytes;
	const char *const *sources; /* laid over the image, see source/sources.h */
	uint32_t source_count;
	struct source_layering layering; /* keeping is WHITEOUTS_AS_MARKS */
	const char *const *removed;      /* paths of the image */
	uint32_t removed_count;
	const char *into;     /* the directory of the image where the sources' root is; NULL: its root */
	bool mirrors;         /* what the sources do not have is removed, below that directory */
	bool compares_bytes;  /* files of equal size are read; false: equal size and mtime are enough */
	bool is_atomic;       /* all of it or nothing, or an error */
	bool makes_new_file;  /* a copy of the image is changed, and takes its name */
	bool is_dry_run;      /* nothing is written */
	bool lists_actions;   /* the report has them all */
	bool one_file_system; /* the next ones are as of populate/build/options.h */
	bool all_times;
	bool has_epoch;
	int64_t epoch;
	uint64_t free_bytes;
	unsigned int free_percent;
	struct source_limits limits;
	uint64_t memory_bytes;
	unsigned int threads;
	const struct exclude *exclude; /* NULL: nothing */
	struct owner_map *owners;      /* NULL: owners stay the sources' */
	const char *metadata;          /* NULL: none */
	struct progress *progress;     /* may be NULL */
	uint64_t most_logged_blocks;   /* of a transaction; 0: as many as the journal holds. Tests want more of them */
	struct struct_io_manager *manager; /* for transactions; NULL: libext2mb's. Tests record what is written */
};

/* A file's time as it is stored: none is after the epoch, if there is one. */
static inline struct tree_time update_time(const struct update_options *options, struct tree_time time)
{
	return options->has_epoch && time.seconds >= options->epoch ? (struct tree_time){ options->epoch, 0, true } :
	                                                              time;
}
