/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File flags (tree/file_flags.h) on their way into inodes. Directories, archives and manifests have them in the
 * tree. Regular files of the host are asked when they are opened for their contents: opening them once more while the
 * tree is scanned took 3.5 us a file, the question itself 0.5 us (tmpfs).
 */
#pragma once

#include "populate/build/plan.h"

/* Must the file itself be asked, and has not been yet? */
bool flags_are_missing(const struct plan *plan, uint32_t node);

/* Notes the answer of content_reader_flags(), or FILE_FLAGS_UNREAD. For the task that has the node. */
void flags_note(const struct plan *plan, uint32_t node, uint32_t flags);

/* The flags of a node's inode. */
uint32_t flags_of(const struct plan *plan, uint32_t node);

/* How many nodes something was left out of, and the first of them. */
struct flags_left_out {
	uint64_t count;
	uint32_t first;
};

/* Zero-initialise. */
struct flags_lost {
	struct flags_left_out unread, unknown; /* flags that could not be read, or not be kept */
	struct flags_left_out acls, xattrs;    /* ACLs of NFSv4, and xattrs of other names than ext4 has */
	struct flags_left_out times;           /* that are stored as others */
	struct flags_left_out casefolded;      /* directories that compared their names without case */
	struct flags_left_out unprotected;     /* files that fs-verity protects in their source */
};

/* Counts what a node's inode, of that value, does not get, once that is known. Each worker counts by itself. */
void flags_count_lost(const struct plan *plan, uint32_t node, const struct inode_value *value, struct flags_lost *lost);
void flags_join_lost(struct flags_lost *all, const struct flags_lost *more);

/* Adds warnings of it, if there is any. Main thread; ENOMEM. */
MUST_CHECK errcode_t flags_warn(const struct plan *plan, const struct flags_lost *lost, struct warnings *warnings);
