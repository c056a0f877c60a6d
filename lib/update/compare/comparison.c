/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/compare/comparison.h"

#include <errno.h>

errcode_t comparison_tell(const struct comparison *comparison, uint32_t node, const char *what, struct problem *problem)
{
	SCOPE_FREE char *path = update_node_path(comparison->plan, node);

	return problem_set_reason(problem, EUCLEAN, comparison->options->image, "cannot update",
	                          "%s: its %s is damaged; run e2fsck first", path ? path : "?", what);
}

errcode_t comparison_check(struct comparison *comparison, uint32_t node)
{
	return comparison->damage ? comparison_tell(comparison, node, comparison->damage, comparison->problem) : 0;
}

errcode_t comparison_read_inode(struct comparison *comparison, uint32_t node, uint32_t ino, struct volume_inode *inode)
{
	errcode_t error = inode_window_read(&comparison->window, ino, comparison->raw, inode);

	if (error == ENOMEM)
		return error;
	if (error || !inode->view.mode || !inode->view.links)
		return comparison_tell(comparison, node, "inode", comparison->problem);
	return 0;
}
