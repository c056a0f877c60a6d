// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/zeros.h"

#include <errno.h>
#include <string.h>

#include "support/vector.h"

bool bytes_are_zero(const void *bytes, size_t count)
{
	const char *first = bytes;
	uint64_t word = 0;

	if (count >= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		if (word)
			return false;
	}
	/* A block equals itself shifted by a byte, and begins with zero: memcmp() runs at memory speed. */
	return !count || (first[0] == 0 && memcmp(first, first + 1, count - 1) == 0);
}

static errcode_t note(struct zero_list *list, uint32_t node, uint32_t logical, uint32_t blocks)
{
	struct zero_run *last = list->count ? &list->runs[list->count - 1] : NULL;

	if (last && last->node == node && last->run.logical + last->run.count == logical) {
		last->run.count += blocks;
		return 0;
	}
	errcode_t error = vector_reserve(&list->runs, &list->capacity, list->count + 1, sizeof(*list->runs));
	if (error)
		return error;
	list->runs[list->count++] = (struct zero_run){ node, { logical, blocks } };
	return 0;
}

errcode_t zeros_find(const struct ondisk_format *format, uint32_t node, uint32_t logical, const void *bytes,
                     size_t count, struct zero_list *list, uint64_t *found)
{
	size_t step = (size_t)format->block_bytes << format->cluster_bits;
	const char *next = bytes;

	*found = 0;
	while (count) {
		size_t length = count < step ? count : step;
		uint32_t blocks = (uint32_t)((length + format->block_bytes - 1) >> format->block_bits);

		if (bytes_are_zero(next, length)) {
			errcode_t error = note(list, node, logical, blocks);

			if (error)
				return error;
			*found += blocks;
		}
		next += length;
		logical += blocks;
		count -= length;
	}
	return 0;
}

static int compare_runs(const void *left, const void *right)
{
	const struct zero_run *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->run.logical < b->run.logical ? -1 : a->run.logical > b->run.logical;
}

/* Everything that one node gives up and keeps. */
struct punching {
	struct file_extent *kept, *freed;
	uint32_t kept_count, freed_count;
};

static errcode_t free_blocks(const struct build *build, uint64_t start, uint64_t blocks)
{
	return ext2mb_free(build->workers[0], start, build_clusters(build, blocks) << build->format.cluster_bits);
}

/*
 * The map's own blocks: the old ones are used again; more than before (a hole more can be an extent more)
 * come out of what has just been freed, of which there is at least one cluster for every extent added.
 */
static errcode_t take_map_blocks(const struct build *build, const struct placement *placement, struct long_map *map,
                                 struct punching *punching)
{
	uint32_t old_count = placement->is_long ? placement->map->map_block_count : 0;
	uint32_t cluster_blocks = 1u << build->format.cluster_bits;
	uint32_t block = 0, freed = 0;

	for (; block < map->map_block_count && block < old_count; block++)
		map->map_blocks[block] = placement->map->map_blocks[block];
	while (block < map->map_block_count) {
		while (freed < punching->freed_count && !punching->freed[freed].count)
			freed++;
		if (freed == punching->freed_count)
			return EXT2MB_ET_NO_SPACE;
		uint32_t taken = punching->freed[freed].count < cluster_blocks ? punching->freed[freed].count :
		                                                                 cluster_blocks;
		map->map_blocks[block++] = punching->freed[freed].physical;
		punching->freed[freed].physical += taken;
		punching->freed[freed].count -= taken;
	}
	for (; block < old_count; block++) {
		errcode_t error = free_blocks(build, placement->map->map_blocks[block], 1);

		if (error)
			return error;
	}
	return 0;
}

static errcode_t replace_map(const struct build *build, struct placement *placement, struct punching *punching)
{
	uint64_t map_blocks = file_map_blocks(&build->format, punching->kept, punching->kept_count);
	struct long_map *map = long_map_create(punching->kept, punching->kept_count, (uint32_t)map_blocks);

	if (!map)
		return ENOMEM;
	errcode_t error = take_map_blocks(build, placement, map, punching);
	for (uint32_t extent = 0; !error && extent < punching->freed_count; extent++)
		if (punching->freed[extent].count)
			error = free_blocks(build, punching->freed[extent].physical, punching->freed[extent].count);
	if (error) {
		free(map);
		return error;
	}
	if (placement->is_long)
		free(placement->map);
	placement->is_long = true;
	placement->map = map;
	return 0;
}

static errcode_t punch_node(struct build *build, uint32_t node, const struct block_run *runs, size_t run_count)
{
	struct placement *placement = &build->placements[node];
	struct file_extent single;
	uint32_t count;
	const struct file_extent *extents = placement_extents(placement, &single, &count);
	SCOPE_FREE struct file_extent *kept = calloc(count + run_count, sizeof(*kept));
	SCOPE_FREE struct file_extent *freed = calloc(count + run_count, sizeof(*freed));
	struct punching punching = { .kept = kept, .freed = freed };

	if (!kept || !freed)
		return ENOMEM;
	extents_punch(extents, count, runs, run_count, kept, &punching.kept_count, freed, &punching.freed_count);
	for (size_t run = 0; run < run_count; run++) {
		placement->blocks -= runs[run].count;
		build->zero_blocks += runs[run].count;
	}
	return replace_map(build, placement, &punching);
}

static errcode_t punch_all(struct build *build, const struct zero_run *runs, size_t count)
{
	struct block_run *node_runs = NULL;
	size_t capacity = 0;
	errcode_t error = 0;

	for (size_t first = 0, end; !error && first < count; first = end) {
		uint32_t node = runs[first].node;

		for (end = first; end < count && runs[end].node == node; end++)
			;
		error = vector_reserve(&node_runs, &capacity, end - first, sizeof(*node_runs));
		for (size_t run = first; !error && run < end; run++)
			node_runs[run - first] = runs[run].run;
		if (!error)
			error = punch_node(build, node, node_runs, end - first);
		if (error)
			build_node_problem(build, build->problem, node, error, "cannot make holes");
	}
	free(node_runs);
	return error;
}

errcode_t zeros_punch(struct build *build, struct zero_list *lists, unsigned int list_count)
{
	struct zero_list all = { 0 };
	size_t total = 0;

	for (unsigned int list = 0; list < list_count; list++)
		total += lists[list].count;
	if (!total)
		return 0;
	errcode_t error = vector_reserve(&all.runs, &all.capacity, total, sizeof(*all.runs));
	if (error)
		return problem_set(build->problem, error, NULL, "cannot make holes");
	for (unsigned int list = 0; list < list_count; list++) {
		if (lists[list].count)
			memcpy(&all.runs[all.count], lists[list].runs, lists[list].count * sizeof(*all.runs));
		all.count += lists[list].count;
	}
	qsort(all.runs, all.count, sizeof(*all.runs), compare_runs);
	error = punch_all(build, all.runs, all.count);
	free(all.runs);
	return error;
}
