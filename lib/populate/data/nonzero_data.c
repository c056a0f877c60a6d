// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/data/nonzero_data.h"

#include <errno.h>
#include <string.h>

#include "support/vector.h"

errcode_t nonzero_data_add(struct nonzero_data *data, uint64_t start_bytes, uint64_t end_bytes, uint64_t stored_start)
{
	errcode_t error = vector_reserve(&data->segments, &data->capacity, data->count + 1, sizeof(*data->segments));

	if (!error)
		error = vector_reserve(&data->stored_starts, &data->stored_capacity, data->count + 1,
		                       sizeof(*data->stored_starts));
	if (error)
		return error;
	data->segments[data->count] = (struct tree_segment){ start_bytes, end_bytes - start_bytes };
	data->stored_starts[data->count++] = stored_start;
	return 0;
}

void nonzero_data_free(struct nonzero_data *data)
{
	free(data->segments);
	free(data->stored_starts);
	*data = (struct nonzero_data){ 0 };
}

static uint64_t sum(const struct tree_segment *segments, size_t count)
{
	uint64_t bytes = 0;

	for (size_t segment = 0; segment < count; segment++)
		bytes += segments[segment].length_bytes;
	return bytes;
}

errcode_t nonzero_data_keep(struct build *build, uint32_t number, const struct nonzero_data *data)
{
	struct tree *tree = build->tree;
	struct tree_node *node = &tree->nodes[number];
	uint64_t had_bytes = node->is_sparse ? sum(node->data_map->segments, node->data_map->count) : node->size_bytes;
	uint64_t kept_bytes = sum(data->segments, data->count);

	if (kept_bytes == had_bytes)
		return 0;
	struct tree_data_map *map = arena_alloc(&tree->memory, sizeof(*map) + data->count * sizeof(*data->segments));
	uint64_t *starts = arena_alloc(&tree->memory, (data->count + 1) * sizeof(*starts));

	if (!map || !starts)
		return ENOMEM;
	map->count = (uint32_t)data->count;
	if (data->count) {
		memcpy(map->segments, data->segments, data->count * sizeof(*data->segments));
		memcpy(starts, data->stored_starts, data->count * sizeof(*starts));
	}
	map->stored_starts = starts;
	map->host_path = node->is_sparse ? node->data_map->host_path : NULL;
	node->is_sparse = true;
	node->data_map = map;
	build->known_zero_bytes += had_bytes - kept_bytes;
	return 0;
}

uint64_t nonzero_data_stored_start(const struct build *build, uint32_t number, uint32_t segment)
{
	const struct tree_node *node = build_node(build, number);

	if (build->tree->origins[node->origin].kind != TREE_ORIGIN_STORED)
		return 0;
	return node->is_sparse ? node->data_map->stored_starts[segment] : node->stored_start;
}
