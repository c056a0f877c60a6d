/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree is written out: as a tar archive, as a manifest, as a list, or into a directory of the host. The tree may come
 * from an image, or from anywhere else; only its origin reads the source (tree/contents.h).
 */
#pragma once

#include "support/run/pool.h"
#include "support/run/progress.h"
#include "tree/source_limits.h"
#include "tree/tree.h"

enum extract_form {
	EXTRACT_DIRECTORY,
	EXTRACT_TAR,
	EXTRACT_MTREE,
	EXTRACT_LIST,
	EXTRACT_LIST_JSON,
	EXTRACT_FORMS,
};

enum extract_packing { EXTRACT_PLAIN, EXTRACT_GZIP, EXTRACT_ZSTD };

struct extract_options {
	enum extract_form form;
	enum extract_packing packing; /* EXTRACT_TAR */
	const char *output;           /* a path; "-": standard output */
	const char *source;           /* the file that the tree is read from, which is never overwritten; NULL: none */
	char *const *paths;           /* from the root: these, and all below them; see extract/selection.h */
	size_t path_count;            /* 0: everything */
	unsigned int pack_threads;    /* beside the caller's, where the packing has any; 0: none */
	bool is_strict;               /* what the form cannot hold is an error, before anything is written */
	bool names_losses;            /* each file that the form cannot hold is a warning of its own */
	bool has_force;               /* EXTRACT_DIRECTORY: into one that is not empty, in the place of what is there */
	struct source_counts *counts; /* limits how many bytes of holes are digested; NULL: nothing does */
	unsigned int hole_seconds;    /* how long that may take, all threads together; 0: any time */
	struct progress *progress;    /* may be NULL */
};

/* What the user is told of a run that got to its end. extract_report_clear() is due in any case. */
struct extract_report {
	struct warnings losses;   /* what the output does not have of files that it has */
	struct warnings left_out; /* files that are damaged or cannot be made, each once; paths that are not there */
	uint64_t files, data_bytes;
};

/*
 * Writes it. A file gets its name once it is whole, and nothing is left of it after an error; a directory stays as far
 * as it has come. Errors: those of writing, EINTR, ENOMEM, ENOENT (none of the paths is there); EINVAL, EEXIST: the
 * output cannot be where it should. With is_strict EOPNOTSUPP, with report->losses. The problem names the output.
 * Main thread only.
 */
MUST_CHECK errcode_t extract(const struct tree *tree, const struct extract_options *options, struct pool *pool,
                             struct extract_report *report, struct problem *problem);

void extract_report_clear(struct extract_report *report);
