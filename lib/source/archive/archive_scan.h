/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inside of archive_source: what reading an archive and its members shares. */
#pragma once

#include <archive_entry.h>

#include "source/archive/archive_header.h"
#include "source/archive/archive_input.h"
#include "source/archive/archive_spool.h"
#include "source/host/data_segments.h"
#include "source/tree/source_kind.h"
#include "source/tree/xattr_table.h"

/* Content of the member at hand, in the order in which it comes: ascending. */
struct archive_segments {
	struct data_segments data;
	uint64_t *stored_starts; /* of each of these segments */
	size_t stored_capacity;
	bool is_spooled; /* they lie in the temporary file, all of them; else in the archive */
};

struct archive_scan {
	const struct archive_kind *kind;
	const char *name; /* of the archive, for messages */
	const struct scan_options *options;
	struct problem *problem;
	struct tree *tree;
	struct archive_input input;
	struct archive_spool spool;
	struct archive_entry *entry; /* the member at hand; NULL: none */
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

/* The same of what libarchive has just failed to do. */
errcode_t archive_scan_failure(const struct archive_scan *scan);

/* Everything of the member but its name, its size and its contents. */
MUST_CHECK errcode_t archive_scan_attributes(struct archive_scan *scan, struct tree_node *node);

/* The member's xattrs and ACLs as node->xattrs; an ACL's mask becomes the mode's group bits. */
MUST_CHECK errcode_t archive_scan_xattrs(struct archive_scan *scan, struct tree_node *node);

/* The size of a regular file, and where its contents are. */
MUST_CHECK errcode_t archive_scan_contents(struct archive_scan *scan, struct tree_node *node);
