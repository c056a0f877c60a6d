/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/kind/links_below.h"

#include <errno.h>
#include <sys/stat.h>

#include "source/kind/stored_contents.h"
#include "support/vector.h"

void links_below_destroy(struct links_below *links)
{
	free(links->list);
	free(links->order);
	*links = (struct links_below){ 0 };
}

errcode_t links_below_add(struct links_below *links, struct tree *tree, const char *source, const char *target,
                          uint32_t order, struct tree_node *node)
{
	errcode_t error = vector_reserve(&links->list, &links->capacity, links->count + 1, sizeof(*links->list));

	if (!error && !links->origin)
		error = stored_contents_add(tree, source, -1, &links->origin);
	if (error)
		return error;
	struct link_below *link = &links->list[links->count];

	*link = (struct link_below){
		.target = arena_copy_string(&tree->memory, target, strlen(target)),
		.order = order,
	};
	if (!link->target)
		return ENOMEM;
	*node = (struct tree_node){ .mode = S_IFREG, .origin = links->origin, .contents = links->count++ };
	return 0;
}

struct link_below *links_below_find(const struct links_below *links, const struct tree_node *node)
{
	/* A directory that nothing describes has the origin of the file that needed it. */
	return links->origin && node->origin == links->origin && S_ISREG(node->mode) ? &links->list[node->contents] :
	                                                                               NULL;
}
