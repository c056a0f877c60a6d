/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inside of archive_source: what reading an archive and its members shares. */
#pragma once

#include <archive_entry.h>

#include "source/archive/archive_input.h"
#include "source/host/data_segments.h"
#include "source/kind/source_kind.h"
#include "tree/details.h"
#include "tree/xattr_table.h"

/* An extended attribute as it is in a header. */
struct header_xattr {
	const struct header_xattr *next; /* came earlier */
	const char *name;                /* in scan->member_memory */
	const char *value;               /* in the header, until contents are read */
	size_t value_bytes;
};

/* Only for tar, from its extended headers. */
struct archive_header {
	struct tree_time mtime;
	struct tree_time atime, ctime, crtime; /* only where they are asked for */
	const char *access_acl, *default_acl;  /* NULL: not there; in scan->member_memory */
	const char *label;                     /* SELinux's, likewise */
	const struct header_xattr *xattrs;     /* SCHILY's */
	bool has_encoded_xattrs;               /* and those of libarchive */
};

/* Contents that lie nowhere else, copied one after another. */
struct archive_spool {
	struct unpacked_store *store; /* borrowed from the tree; NULL: there are none yet */
	uint32_t origin;
};

/* Content of the member at hand, in the order in which it comes: ascending. */
struct archive_segments {
	struct data_segments data;
	uint64_t *stored_starts; /* of each of these segments */
	size_t stored_capacity;
	uint64_t zero_pieces; /* KiB of the file that are zeros, or at least what is here of them */
	bool ends_with_zeros; /* the last of these is one */
	bool is_spooled; /* they have been copied, all of them; else they lie in the archive, or in what it unpacks to
	                  */
};

struct archive_scan {
	const char *name;       /* of the archive, for messages */
	struct source *source;  /* gets warnings */
	struct problem dropped; /* the first directory that a later member has replaced, with names in it; owned */
	uint64_t dropped_count;
	const struct scan_options *options;
	struct problem *problem;
	struct tree *tree;
	struct archive_input input;
	uint32_t origin; /* of contents that have not been copied */
	bool uses_file;  /* some lie in the archive's file */
	struct archive_spool spool;
	struct archive_entry *entry;  /* the member at hand; NULL: none */
	struct archive_header header; /* likewise */
	struct archive_segments segments;

	struct xattr_table *xattr_table;
	struct xattr_table_memory last_set;
	struct tree_xattr *xattrs; /* scratch */
	size_t xattr_capacity;
	struct arena member_memory; /* scratch: the member's */
};

/* Records a problem with the member at hand, or with the archive; reason NULL: the error says it all. */
errcode_t archive_scan_problem(const struct archive_scan *scan, errcode_t error, const char *action,
                               const char *reason);

/* The same of what is no failure: it is told beside the result. */
errcode_t archive_scan_note(const struct archive_scan *scan, errcode_t error, const char *action, const char *reason,
                            struct problem *problem);

/* The same of what libarchive has just failed to do. */
errcode_t archive_scan_failure(const struct archive_scan *scan);

/*
 * Are the times beside mtime taken? Only for tar: in other formats libarchive's ctime may be the creation time (zip,
 * 7z), and so in a tar archive that was converted from them.
 */
bool archive_scan_takes_times(const struct archive_scan *scan);

/*
 * Reads the raw header of a tar member. libarchive (3.6 to 3.7) reads numbers up to the first character that is not a
 * digit, leaves out what is damaged in an ACL, makes ids in ACLs from 2^31 on 2147483647, and loses the sign of -0.97
 * seconds, all without a word.
 *
 * Looks at the header of scan->entry, which libarchive has just read, and fills scan->header. EBADMSG with a reason
 * where a tar header is damaged; ENOMEM. (libarchive itself refuses those of cpio.)
 */
MUST_CHECK errcode_t archive_header_read(struct archive_scan *scan);

/* Everything of the member but its name, its size and its contents. */
MUST_CHECK errcode_t archive_scan_attributes(struct archive_scan *scan, struct tree_node *node);

/* The size of a regular file, and where its contents are. */
MUST_CHECK errcode_t archive_scan_contents(struct archive_scan *scan, struct tree_node *node);

/* What the members of an origin are unpacked to, which becomes the origin's; what was unpacked has been looked at for
 * zeros. */
void archive_scan_set_unpacked(struct tree *tree, uint32_t origin, struct unpacked_store *store);
