/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The projects that files belong to (feature project), as host directories say. Archives and manifests know none, only
 * whether what is made in a directory will be in its project.
 * mke2fs -d leaves them out: after it all files are in project 0.
 */
#pragma once

#include "tree/tree.h"
#include "support/run/pool.h"

struct project {
	uint32_t id;
	bool is_inherited; /* a directory: by what is made in it */
};

/*
 * Gives one for each node, which the caller frees; NULL after a failure. In parallel; errors of file_getattr(2),
 * ENOMEM, EINTR. A file whose project a kernel before 6.17, or the filesystem, does not tell (symbolic links, devices
 * and so on) has the project of its directory where that one is inherited, as if it were made there, else 0.
 */
MUST_CHECK errcode_t projects_read(const struct tree *tree, struct pool *pool, struct project **ret,
                                   struct problem *problem);
