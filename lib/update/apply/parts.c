/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/apply/parts.h"

#include <errno.h>

#include "support/vector.h"
#include "tree/details.h"
#include "update/apply/copying.h"
#include "update/apply/releasing.h"
#include "update/target/orphans.h"

bool parts_have_to_end(const struct applying *applying)
{
	return applying->may_divide && !applying->placed_count &&
	       update_filesystem_log_blocks(applying->filesystem) > orphans_most_logged(applying->filesystem);
}

static errcode_t copy_part(struct applying *applying)
{
	applying->placed_count = 1;
	errcode_t error = copy_contents(applying);

	applying->placed_count = 0;
	return error;
}

static errcode_t hold_part(struct applying *applying, struct placed_inode *placed)
{
	const struct tree_node *node = &applying->plan->tree->nodes[placed->node];
	const struct inode_value owner = {
		.uid = node->uid,
		.gid = node->gid,
		.project = applying->format->project ? tree_detail(applying->plan->tree, node)->project : 0,
	};
	const struct extent_list part = {
		.extents = placed->extents.extents + placed->extents.final,
		.count = placed->extents.count - placed->extents.final,
	};
	struct holder holder = { 0 };
	errcode_t error = holder_make(applying, &owner, &part, &holder);

	if (!error)
		error = vector_add(&placed->holders, &placed->holder_count, &placed->holder_capacity, &holder,
		                   sizeof(holder));
	if (error)
		free(holder.map_blocks);
	return error;
}

errcode_t parts_end(struct applying *applying, struct placed_inode *placed)
{
	errcode_t error = copy_part(applying);

	if (!error)
		error = hold_part(applying, placed);
	if (!error)
		error = update_filesystem_commit(applying->filesystem);
	if (!error)
		error = ext2mb_transaction_begin(applying->filesystem->fs);
	if (!error)
		placed->extents.final = placed->extents.count;
	return error;
}

errcode_t parts_join(struct applying *applying, const struct placed_inode *placed)
{
	errcode_t error = 0;

	for (size_t i = 0; !error && i < placed->holder_count; i++)
		error = holder_drop(applying, &placed->holders[i]);
	return error;
}
