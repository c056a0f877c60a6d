/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the xattrs of the host's files: user.*, trusted.*, security.* and POSIX ACLs. Others are left out, which is
 * told: they are computed by the host's filesystem (system.nfs4_acl, btrfs.compression) and ext4 cannot hold them.
 */
#pragma once

#include "tree/tree.h"

/* Belongs to one worker; what list points to lasts until the next read. */
struct host_xattrs {
	struct tree_xattr *list; /* sorted by name */
	uint32_t count;
	uint32_t unread_count;  /* left out, since they could not be read */
	errcode_t unread_error; /* the first one's */

	bool has_unknown; /* one that is none of these was left out */

	bool lacks_proc; /* why the last read failed: /proc is not mounted */

	size_t list_capacity;
	char *names; /* as listxattr() gives them */
	unsigned char *values;
	size_t values_capacity;
	bool lacks_at_calls; /* Linux before 6.13, a filter of system calls that does not know them, or under
	                        fakeroot(1) */
};

MUST_CHECK errcode_t host_xattrs_init(struct host_xattrs *xattrs);
void host_xattrs_destroy(struct host_xattrs *xattrs);

/*
 * Reads those of an open file or directory. ENOTSUP: its filesystem has none. An xattr that must not (EACCES, EPERM)
 * or cannot (ENOTSUP) be read is not an error; if not even their names can be, that counts as one. EIO and others
 * are.
 */
MUST_CHECK errcode_t host_xattrs_read(struct host_xattrs *xattrs, int descriptor);

/* Reads those of a name in an open directory, of symlinks themselves; never by a path, which could lead elsewhere
 * meanwhile. */
MUST_CHECK errcode_t host_xattrs_read_at(struct host_xattrs *xattrs, int directory, const char *name);
