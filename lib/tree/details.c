/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/details.h"

#include <errno.h>

#include "support/vector.h"

const struct tree_detail tree_no_detail;

static bool says_something(const struct tree_detail *detail)
{
	return detail->atime.is_known || detail->ctime.is_known || detail->crtime.is_known || detail->project ||
	       detail->inode_number || detail->generation || detail->is_unloaded;
}

errcode_t tree_add_detail(struct tree *tree, const struct tree_detail *detail, uint32_t *number)
{
	size_t count = tree->detail_count ? tree->detail_count : 1;

	*number = 0;
	if (!says_something(detail))
		return 0;
	if (count > UINT32_MAX)
		return EOVERFLOW;
	errcode_t error = vector_reserve(&tree->details, &tree->detail_capacity, count + 1, sizeof(*tree->details));

	if (error)
		return error;
	tree->details[0] = tree_no_detail;
	tree->details[count] = *detail;
	*number = (uint32_t)count;
	tree->detail_count = count + 1;
	return 0;
}
