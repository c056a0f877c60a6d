/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A manifest, mtree(5), whose owners, modes, times, xattrs, link targets and devices override those of the source. So
 * an image can have devices, set-user-ID files and capabilities without root's rights, and without fakeroot.
 *
 * Directories, devices, symlinks, fifos and sockets that are not in the tree are made; unless it says more they have
 * mode 0755 (0777 symlinks, 0644 all others), owner 0:0 and the time of the tree's root. A regular file that is not
 * there is an error, as is a type other than that of a file that is.
 */
#pragma once

#include "tree/tree.h"
#include "support/run/pool.h"

/*
 * Applies the manifest at path, later lines after earlier ones. *tree is replaced if files are made; after a failure it
 * may be NULL. Problems name manifest and line. Names of users and groups are those of the tree's own etc/passwd and
 * etc/group. Main thread.
 */
MUST_CHECK errcode_t metadata_apply(const char *path, struct tree **tree, struct pool *pool, struct problem *problem);
