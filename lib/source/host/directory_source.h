/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A host directory as a source: scanned in parallel, its files read by name relative to their directory. */
#ifndef SOURCE_DIRECTORY_SOURCE_H
#define SOURCE_DIRECTORY_SOURCE_H

#include "source/tree/exclude.h"
#include "source/tree/tree.h"
#include "support/work/pool.h"
#include "support/work/progress.h"
#include "support/warnings.h"

struct scan_options {
	uint64_t skip_device, skip_inode; /* a file left out if met (the image itself); 0, 0: none */
	bool *skipped;                    /* set to true if it was; may be NULL */
	const struct exclude *exclude;    /* files left out, unread and unopened; may be NULL */
	bool one_file_system;             /* directories of other filesystems than the root's stay empty */
	bool without_xattrs;              /* leave them all out, unread */
	bool without_flags;               /* likewise file flags; those of regular files nobody reads here */
	struct warnings *warnings;        /* gets one if xattrs could not be read; may be NULL */
	bool has_oci_whiteouts;           /* an archive's .wh.NAME below a file is left out, not an error */
	bool has_below;                   /* the tree is to be merged, over others: an archive's hard links may lead there */
	const char *spool_directory;      /* for an archive's temporary file; NULL: /tmp */
	struct progress *progress;        /* may be NULL */
};

/*
 * Reads the whole tree below path; path itself may be a symlink. Everything else is read with
 * the caller's rights, without following symlinks. Of xattrs, user.*, trusted.*, security.* and POSIX ACLs are
 * kept, but for those that cannot be read; sets are numbered in the order in which nodes use them. What vanishes
 * meanwhile is an error.
 * Errors name the path that could not be read. The result does not depend on the pool or the host's order.
 */
MUST_CHECK errcode_t directory_source_scan(const char *path, const struct scan_options *options, struct pool *pool,
                                           struct tree **ret, struct problem *problem);

/*
 * Opens regular files of a scanned tree, those of one TREE_ORIGIN_DIRECTORY. Each worker has its own: it keeps the
 * last directory open, since the files of a directory are neighbours in the tree. Others use
 * source/host/content_reader.h, which reads files of any origin.
 */
struct directory_reader;

/* ENOMEM. The tree must last as long. */
MUST_CHECK errcode_t directory_reader_create(const struct tree *tree, uint32_t origin, struct directory_reader **ret);
void directory_reader_destroy(struct directory_reader *reader);

/* A directory, open for reading until the reader is used again. Symlinks are not followed. */
MUST_CHECK errcode_t directory_reader_enter(struct directory_reader *reader, uint32_t node, int *directory,
                                            struct problem *problem);

/*
 * A descriptor for reading; the caller closes it. Symlinks are not followed: a file that has been replaced
 * by one since the scan is an error. EBUSY with a reason: it is no longer a regular file.
 */
MUST_CHECK errcode_t directory_reader_open(struct directory_reader *reader, uint32_t node, int *descriptor,
                                           struct problem *problem);

#endif
