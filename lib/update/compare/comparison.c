/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/compare/comparison.h"

#include <errno.h>

static errcode_t tell(const struct comparison *comparison, uint32_t node, const char *what)
{
	SCOPE_FREE char *path = update_node_path(comparison->plan, node);

	return problem_set_reason(comparison->problem, EUCLEAN, comparison->options->image, "cannot update",
	                          "%s: its %s is damaged; run e2fsck first", path ? path : "?", what);
}

errcode_t comparison_check(struct comparison *comparison, uint32_t node)
{
	return comparison->damage ? tell(comparison, node, comparison->damage) : 0;
}

errcode_t comparison_read_inode(struct comparison *comparison, uint32_t node, uint32_t ino, struct volume_inode *inode)
{
	errcode_t error = inode_window_read(&comparison->window, ino, comparison->raw, inode);

	if (error == ENOMEM)
		return error;
	if (error || !inode->view.mode || !inode->view.links)
		return tell(comparison, node, "inode");
	return 0;
}
