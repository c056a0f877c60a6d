// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/sources.h"

#include <errno.h>
#include <string.h>

#include "source/layers/oci_image.h"
#include "source/source.h"
#include "support/vector.h"

struct stack {
	struct source *sources;     /* their paths are owned */
	struct merge_layer *layers; /* of the same numbers; their trees are NULL until they have been read */
	size_t count, source_capacity, layer_capacity;
	const struct scan_options *options;
};

/* Some archives that follow each other. */
struct run {
	struct stack *stack;
	size_t start;
};

static errcode_t add_layer(struct stack *stack, struct source source, enum whiteouts whiteouts)
{
	errcode_t error =
		vector_reserve(&stack->layers, &stack->layer_capacity, stack->count + 1, sizeof(*stack->layers));

	if (!error)
		error = vector_reserve(&stack->sources, &stack->source_capacity, stack->count + 1,
		                       sizeof(*stack->sources));
	source.path = error ? NULL : strdup(source.path);
	if (!source.path) {
		cleanup_close_descriptor(&source.descriptor);
		return ENOMEM;
	}
	stack->sources[stack->count] = source;
	stack->layers[stack->count++] = (struct merge_layer){ NULL, whiteouts };
	return 0;
}

static errcode_t add_image(struct stack *stack, const char *name, struct pool *pool, struct problem *problem)
{
	struct oci_image *image;
	errcode_t error = oci_image_open(name, pool, &image, problem);

	for (uint32_t i = 0; !error && i < oci_image_layers(image); i++) {
		struct source layer = { .kind = &archive_kind_layer };

		layer.path = oci_image_layer(image, i, &layer.descriptor);
		error = add_layer(stack, layer, WHITEOUTS_OCI);
	}
	oci_image_close(image);
	return error;
}

static errcode_t list_layers(struct stack *stack, const char *const *sources, uint32_t count, enum whiteouts whiteouts,
                             struct pool *pool, struct problem *problem)
{
	for (uint32_t i = 0; i < count; i++) {
		bool is_image = !strncmp(sources[i], OCI_IMAGE_PREFIX, strlen(OCI_IMAGE_PREFIX));
		errcode_t error = is_image ?
		                          add_image(stack, sources[i] + strlen(OCI_IMAGE_PREFIX), pool, problem) :
		                          add_layer(stack, source_of(sources[i]), whiteouts);

		if (error)
			return problem_set(problem, error, sources[i], "cannot read");
	}
	return 0;
}

static errcode_t read_layer(struct stack *stack, size_t number, struct pool *pool, struct problem *problem)
{
	struct merge_layer *layer = &stack->layers[number];
	struct scan_options options = *stack->options;

	options.has_oci_whiteouts = layer->whiteouts == WHITEOUTS_OCI;
	options.has_below = number > 0;
	errcode_t error = source_scan(&stack->sources[number], &options, pool, &layer->tree, problem);

	if (error)
		return problem_set(problem, error, stack->sources[number].path, "cannot read");
	for (uint32_t i = 0; i < layer->tree->origin_count; i++)
		layer->tree->origins[i].source = (uint32_t)number;
	return 0;
}

static errcode_t read_archive(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct run *run = context;
	struct pool *serial;
	errcode_t error = pool_create(0, &serial);

	(void)worker;
	if (error)
		return error;
	error = read_layer(run->stack, run->start + index, serial, problem);
	pool_destroy(serial);
	return error;
}

/*
 * Archives are unpacked by one thread each, and none depends on another: those that follow each other are read side by
 * side. A directory is read by all workers at once. The first failure in the order of sources is the same for any
 * number of threads.
 */
static errcode_t read_layers(struct stack *stack, struct pool *pool, struct problem *problem)
{
	struct run run = { .stack = stack };
	errcode_t error = 0;

	while (!error && run.start < stack->count) {
		size_t count = 0;

		while (run.start + count < stack->count && stack->sources[run.start + count].kind)
			count++;
		if (count > 1) {
			error = pool_run(pool, count, read_archive, &run, problem);
			run.start += count;
		} else {
			error = read_layer(stack, run.start++, pool, problem);
		}
	}
	return error;
}

static errcode_t merge(struct stack *stack, bool keeps_whiteouts, struct tree **ret, struct problem *problem)
{
	if (stack->count == 1 && stack->layers[0].whiteouts == WHITEOUTS_NONE) {
		*ret = TAKE(stack->layers[0].tree);
		return 0;
	}
	return tree_merge(stack->layers, (uint32_t)stack->count, keeps_whiteouts, ret, problem);
}

errcode_t sources_scan(const char *const *sources, uint32_t count, const struct source_layering *layering,
                       const struct scan_options *options, struct pool *pool, struct tree **ret,
                       struct problem *problem)
{
	struct stack stack = { .options = options };

	*ret = NULL;
	errcode_t error = list_layers(&stack, sources, count, layering->whiteouts, pool, problem);

	if (!error)
		error = read_layers(&stack, pool, problem);
	if (!error)
		error = merge(&stack, layering->keeps_whiteouts, ret, problem);
	for (size_t i = 0; i < stack.count; i++) {
		tree_destroy(stack.layers[i].tree);
		free((char *)stack.sources[i].path);
		cleanup_close_descriptor(&stack.sources[i].descriptor);
	}
	free(stack.layers);
	free(stack.sources);
	return error;
}
