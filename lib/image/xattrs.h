/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the xattrs of an inode from the inode, its xattr block, and inodes of values. */
#pragma once

#include "image/inode.h"
#include "image/map_walk.h"
#include "support/arena.h"

struct volume_xattr {
	const char *name;  /* whole: "user.comment", XATTR_ENCRYPTION_CONTEXT; NULL: the name index has no prefix */
	const void *value; /* as getxattr(2) returns it: ACLs are converted */
	uint32_t value_bytes;
	uint8_t name_index;
};

/* Zero-initialise; may be reused for one inode after another. */
struct volume_xattrs {
	struct volume_xattr *items; /* in the order of the image, those in the inode first */
	size_t count, capacity;
	struct arena arena; /* of names and values */
};

/*
 * Reads all xattrs of an inode, without inline data. Leaves out, and reports, damage: entries and values out of
 * bounds, wrong checksums and hashes, invalid ACLs, a name that comes twice (the first one counts, as in the
 * kernel), inodes of values that are invalid or of another size, values above 64 KiB, which no system call reads, and
 * what follows after 16 MiB of values. Errors:
 * ENOMEM, and errors in reading of the inodes that hold values. One walker, and one list, belong to one thread.
 */
MUST_CHECK errcode_t volume_xattrs_read(struct map_walker *walker, const struct volume_inode *inode,
                                        struct volume_xattrs *xattrs);

void volume_xattrs_free(struct volume_xattrs *xattrs);
