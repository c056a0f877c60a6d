// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/sources.h"

#include <errno.h>
#include <string.h>

#include "source/source.h"
#include "support/vector.h"

struct stack {
	struct source *sources;     /* their paths are owned */
	struct merge_layer *layers; /* of the same numbers; their trees are NULL until they have been read */
	size_t count, source_capacity, layer_capacity;
	const struct scan_options *options;
};

/* Some sources that follow each other, each of which one worker reads. */
struct run {
	struct stack *stack;
	size_t start;
};

static errcode_t add_layer(struct stack *stack, const struct source *source, enum whiteout_form whiteouts)
{
	struct source copy = *source;
	errcode_t error =
		vector_reserve(&stack->layers, &stack->layer_capacity, stack->count + 1, sizeof(*stack->layers));

	if (!error)
		error = vector_reserve(&stack->sources, &stack->source_capacity, stack->count + 1,
		                       sizeof(*stack->sources));
	copy.path = error ? NULL : strdup(source->path);
	if (!copy.path) {
		cleanup_close_descriptor(&copy.descriptor);
		return ENOMEM;
	}
	stack->sources[stack->count] = copy;
	stack->layers[stack->count++] = (struct merge_layer){ .whiteouts = whiteouts };
	return 0;
}

static errcode_t add_image_layer(void *context, const struct source *layer)
{
	return add_layer(context, layer, WHITEOUTS_OCI);
}

static errcode_t list_layers(struct stack *stack, const char *const *sources, uint32_t count,
                             enum whiteout_form whiteouts, struct pool *pool, struct problem *problem)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct source source = source_of(sources[i]);
		errcode_t error = source.kind->list_layers ? source.kind->list_layers(&source, pool, add_image_layer,
		                                                                      stack, problem) :
		                                             add_layer(stack, &source, whiteouts);

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

static errcode_t read_serially(void *context, unsigned int worker, size_t index, struct problem *problem)
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

		while (run.start + count < stack->count &&
		       !stack->sources[run.start + count].kind->scans_in_parallel)
			count++;
		if (count > 1) {
			error = pool_run(pool, count, read_serially, &run, problem);
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
