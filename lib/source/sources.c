// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/sources.h"

#include <errno.h>
#include <string.h>

#include "source/oci_image.h"
#include "source/source.h"
#include "support/vector.h"

struct stack {
	struct merge_layer *layers;
	size_t count, capacity;
	const struct scan_options *options;
	struct pool *pool;
	struct problem *problem;
};

static errcode_t add_layer(struct stack *stack, const char *path, enum whiteouts whiteouts)
{
	errcode_t error = vector_reserve(&stack->layers, &stack->capacity, stack->count + 1, sizeof(*stack->layers));
	struct scan_options options = *stack->options;
	struct tree *tree;

	options.has_oci_whiteouts = whiteouts == WHITEOUTS_OCI;
	options.has_below = stack->count > 0;
	if (!error)
		error = source_scan(path, &options, stack->pool, &tree, stack->problem);
	if (error)
		return problem_set(stack->problem, error, path, "cannot read");
	for (uint32_t i = 0; i < tree->origin_count; i++)
		tree->origins[i].source = (uint32_t)stack->count;
	stack->layers[stack->count++] = (struct merge_layer){ tree, whiteouts };
	return 0;
}

static errcode_t add_image(struct stack *stack, const char *name)
{
	struct oci_image *image;
	errcode_t error = oci_image_open(name, stack->pool, &image, stack->problem);

	for (uint32_t i = 0; !error && i < oci_image_layers(image); i++)
		error = add_layer(stack, oci_image_layer(image, i), WHITEOUTS_OCI);
	oci_image_close(image);
	return error;
}

static errcode_t merge(struct stack *stack, const struct source_layering *layering, struct tree **ret)
{
	if (stack->count == 1 && stack->layers[0].whiteouts == WHITEOUTS_NONE) {
		*ret = TAKE(stack->layers[0].tree);
		return 0;
	}
	return tree_merge(stack->layers, (uint32_t)stack->count, layering->keeps_whiteouts, ret, stack->problem);
}

errcode_t sources_scan(const char *const *sources, uint32_t count, const struct source_layering *layering,
                       const struct scan_options *options, struct pool *pool, struct tree **ret,
                       struct problem *problem)
{
	struct stack stack = { .options = options, .pool = pool, .problem = problem };
	errcode_t error = 0;

	*ret = NULL;
	for (uint32_t i = 0; !error && i < count; i++)
		error = strncmp(sources[i], OCI_IMAGE_PREFIX, strlen(OCI_IMAGE_PREFIX)) ?
		                add_layer(&stack, sources[i], layering->whiteouts) :
		                add_image(&stack, sources[i] + strlen(OCI_IMAGE_PREFIX));
	if (!error)
		error = merge(&stack, layering, ret);
	for (size_t i = 0; i < stack.count; i++)
		tree_destroy(stack.layers[i].tree);
	free(stack.layers);
	return error;
}
