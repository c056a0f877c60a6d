/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "populate/metadata/lost_found.h"

#include <errno.h>

#include "populate/metadata/xattrs.h"

/* Changes the inode, whose inode_bytes bytes are at raw. */
static errcode_t add_xattrs(const struct plan *plan, struct filesystem *filesystem, void *raw)
{
	const struct ondisk_format *format = &plan->format;
	const struct xattr_store *store = &plan->xattrs.stores[plan->source->lost_found_set];
	SCOPE_FREE void *area = calloc(1, format->inode_bytes);
	struct inode_decoded inode;

	if (!area)
		return ENOMEM;
	errcode_t error = store->layout.in_inode ? xattrs_encode(plan, plan->source->lost_found_set, area) : 0;

	if (error)
		return error;
	inode_decode(format, raw, &inode);
	if (store->layout.needs_block) {
		inode.value.xattr_block = store->blocks[plan->xattrs.lost_found_share];
		inode.value.blocks += UINT64_C(1) << format->cluster_bits;
		filesystem->lost_found.blocks += UINT64_C(1) << format->cluster_bits;
	}
	return inode_encode(format, plan->lost_found, &inode.value, store->layout.in_inode ? area : NULL, raw);
}

errcode_t lost_found_write(const struct plan *plan, struct filesystem *filesystem, struct sink *sink,
                           const struct workplace *work)
{
	const struct ondisk_format *format = &plan->format;

	if (!plan->lost_found || plan->source->lost_found_set == TREE_NO_XATTRS)
		return 0;
	uint32_t group = (plan->lost_found - 1) / filesystem->geometry.inodes_per_group;
	uint64_t offset =
		(uint64_t)((plan->lost_found - 1) % filesystem->geometry.inodes_per_group) * format->inode_bytes;
	uint64_t block = filesystem->geometry.inode_tables[group] + (offset >> format->block_bits);
	SCOPE_FREE char *bytes = malloc(format->block_bytes);
	errcode_t error = bytes ? sink_read(sink, block, 1, bytes) : ENOMEM;

	if (!error)
		error = add_xattrs(plan, filesystem, bytes + offset % format->block_bytes);
	if (!error)
		error = sink_write(sink, block, 1, bytes);
	return workplace_result(work, error, "cannot label lost+found");
}
