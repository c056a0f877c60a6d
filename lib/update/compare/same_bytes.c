/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <sys/stat.h>

#include "support/bits.h"
#include "support/run/interrupt.h"
#include "support/vector.h"
#include "update/compare/comparison.h"
#include "update/compare/sameness.h"

struct byte_worker {
	struct map_walker walker;
	bool is_open; /* the walker */
	uint64_t blocks_read;
	struct content_reader *reader;
	uint8_t *raw;
	const char *damage;
};

struct byte_comparison {
	struct comparison *comparison;
	uint32_t *nodes; /* regular files that are as long as the image's files of their names, and have to be read */
	size_t count, capacity;
	bool *is_same; /* by index in nodes */
	struct byte_worker *workers;
};

static void hear(void *context, const struct image_damage *damage)
{
	struct byte_worker *worker = context;

	if (!worker->damage)
		worker->damage = damage->what;
}

static errcode_t list_node(struct byte_comparison *all, uint32_t number)
{
	struct comparison *comparison = all->comparison;
	const struct update_options *options = comparison->options;
	const struct tree_node *node = &comparison->plan->tree->nodes[number];
	struct volume_inode inode;

	/* This tells of most nodes without reading their inodes. */
	if (!options->compares_bytes && !update_time_is_cut(options, node->mtime_seconds))
		return 0;
	if (!S_ISREG(node->mode) || tree_node_is_link(comparison->plan->tree, number) || !comparison->found[number])
		return 0;
	errcode_t error = comparison_read_inode(comparison, number, comparison->found[number], &inode);

	if (error || !S_ISREG(inode.view.mode) || inode.all.value.size_bytes != node->size_bytes ||
	    !sameness_needs_bytes(options, comparison->volume, node, &inode))
		return error;
	error = vector_reserve(&all->nodes, &all->capacity, all->count + 1, sizeof(*all->nodes));
	if (!error)
		all->nodes[all->count++] = number;
	return error;
}

static errcode_t compare_one(void *context, unsigned int worker, size_t index, struct problem *problem)
{
	const struct byte_comparison *all = context;
	const struct comparison *comparison = all->comparison;
	struct byte_worker *own = &all->workers[worker];
	uint32_t node = all->nodes[index];
	struct volume_inode inode;
	errcode_t error = interrupt_pending() ?
	                          EINTR :
	                          volume_inode_read(comparison->volume, comparison->found[node], own->raw, &inode);

	if (!error)
		error = sameness_of_bytes(&own->walker, own->reader, comparison->plan->tree, node, &inode,
		                          &all->is_same[index], problem);
	if (error == EUCLEAN)
		error = comparison_tell(comparison, node, own->damage ? own->damage : "contents", problem);
	progress_add(comparison->options->progress, comparison->plan->tree->nodes[node].size_bytes, 1);
	return error;
}

static errcode_t open_workers(struct byte_comparison *all)
{
	const struct comparison *comparison = all->comparison;
	unsigned int count = pool_workers(comparison->pool);
	errcode_t error = 0;

	all->workers = calloc(count, sizeof(*all->workers));
	all->is_same = calloc(all->count, sizeof(*all->is_same));
	if (!all->workers || !all->is_same)
		return ENOMEM;
	for (unsigned int worker = 0; !error && worker < count; worker++) {
		struct byte_worker *own = &all->workers[worker];
		const struct damage_listener damage = { hear, own };

		own->raw = malloc(comparison->volume->format.inode_bytes);
		error = own->raw ? content_reader_create(comparison->plan->tree, &own->reader) : ENOMEM;
		if (!error)
			error = map_walker_open(comparison->volume, damage, &own->blocks_read, &own->walker);
		own->is_open = !error;
		own->walker.is_strict = true;
	}
	return error;
}

static void close_workers(const struct byte_comparison *all)
{
	for (unsigned int worker = 0; all->workers && worker < pool_workers(all->comparison->pool); worker++) {
		struct byte_worker *own = &all->workers[worker];

		if (own->damage)
			all->comparison->damage = own->damage;
		if (own->is_open)
			map_walker_close(&own->walker);
		content_reader_destroy(own->reader);
		free(own->raw);
	}
	free(all->workers);
}

static errcode_t compare_all(struct byte_comparison *all)
{
	struct comparison *comparison = all->comparison;
	errcode_t error = open_workers(all);

	if (!error)
		error = pool_run(comparison->pool, all->count, compare_one, all, comparison->problem);
	for (size_t i = 0; !error && i < all->count; i++)
		if (all->is_same[i])
			bits_set(comparison->has_same_bytes, all->nodes[i]);
	close_workers(all);
	return error;
}

errcode_t comparison_compare_bytes(struct comparison *comparison)
{
	const struct tree *tree = comparison->plan->tree;
	struct byte_comparison all = { .comparison = comparison };
	errcode_t error = 0;

	comparison->has_same_bytes = calloc(bits_words(tree->node_count), sizeof(*comparison->has_same_bytes));
	if (!comparison->has_same_bytes)
		return ENOMEM;
	for (uint32_t node = 0; !error && node < tree->node_count; node++)
		error = list_node(&all, node);
	if (comparison->options->compares_bytes || all.count)
		progress_stage(comparison->options->progress, "compare", 0, all.count);
	if (!error && all.count)
		error = compare_all(&all);
	free(all.nodes);
	free(all.is_same);
	return error ? error : comparison_check(comparison, TREE_ROOT);
}
