/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the outputs. */
#include <errno.h>

#include "extract/tree_output.h"
#include "support/vector.h"

char *extraction_path(const struct tree *tree, uint32_t node)
{
	/* The path of a node begins with the slash after the root's empty path; it is cut off. */
	char *path = node == TREE_ROOT ? strdup(".") : path_text("", tree_ascend, tree, node, NULL);

	if (path && node != TREE_ROOT)
		memmove(path, path + 1, strlen(path));
	return path;
}

errcode_t extraction_damaged(struct extraction *extraction, unsigned int worker, uint32_t node, enum damage_mark mark,
                             struct problem *problem)
{
	struct extraction_worker *own = &extraction->workers[worker];

	if (__atomic_exchange_n(&extraction->damaged[node], (uint8_t)mark, __ATOMIC_RELAXED) != DAMAGE_NONE) {
		problem_clear(problem);
		return 0;
	}
	errcode_t error = vector_reserve(&own->left_out, &own->left_out_capacity, own->left_out_count + 1,
	                                 sizeof(*own->left_out));

	if (error) {
		problem_clear(problem);
		return error;
	}
	struct left_out *left_out = &own->left_out[own->left_out_count++];

	*left_out = (struct left_out){ .node = node };
	problem_move(&left_out->problem, problem);
	return 0;
}

errcode_t extraction_note_lacks(struct extraction *extraction, unsigned int worker, uint32_t node)
{
	const struct tree *tree = extraction->tree;
	const struct tree_node *file = &tree->nodes[tree->nodes[node].link_to];
	uint64_t lacks = extraction->output->lacks ? extraction->output->lacks(tree, file) : 0;
	errcode_t error = 0;

	/* A loss is noted once a file, but for every name if the file is left out under each of them. */
	if (selection_first_name(&extraction->selection, node) != node && !(lacks & LOSS_BIT(LOSS_SOCKET)))
		return 0;
	for (unsigned int loss = 0; !error && lacks >> loss; loss++)
		if (lacks & LOSS_BIT(loss))
			error = losses_note(&extraction->workers[worker].losses, (enum loss)loss, node, 0);
	return error;
}
