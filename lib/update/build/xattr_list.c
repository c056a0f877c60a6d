/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/build/xattr_list.h"

#include <errno.h>

errcode_t xattr_list_make(const struct tree *tree, uint32_t set, const struct ondisk_format *format,
                          struct xattr_list *list)
{
	const struct tree_xattr_set *source = &tree->xattr_sets[set];

	if (source->count > XATTR_MAX_COUNT)
		return E2BIG;
	list->count = source->count;
	for (uint32_t i = 0; i < source->count; i++)
		list->list[i] = (struct xattr){
			.name = source->list[i].name,
			.value = source->list[i].value,
			.value_bytes = source->list[i].value_bytes,
		};
	return xattr_place(format, list->list, list->count, &list->layout);
}
