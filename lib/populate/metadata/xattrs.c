// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/metadata/xattrs.h"

#include <errno.h>
#include <inttypes.h>

#include "ondisk/inline_data.h"
#include "populate/metadata/xattr_values.h"

/* Lists those whose values have inodes of their own. */
static errcode_t list_values(struct build *build, uint32_t set)
{
	struct xattr_store *store = &build->xattrs[set];
	uint32_t count = build->tree->xattr_sets[set].count;
	errcode_t error = 0;

	if (!store->layout.in_value_inode)
		return 0;
	store->values = calloc(count, sizeof(*store->values));
	if (!store->values)
		return ENOMEM;
	for (uint32_t number = 0; !error && number < count; number++)
		if (store->layout.in_value_inode >> number & 1)
			error = xattr_values_add(build, &store->list[number], &store->values[number],
			                         &store->value_clusters);
	return error;
}

static errcode_t lay_out_set(struct build *build, uint32_t set)
{
	const struct tree_xattr_set *source = &build->tree->xattr_sets[set];
	struct xattr_store *store = &build->xattrs[set];

	store->list = calloc(source->count, sizeof(*store->list));
	if (!store->list)
		return ENOMEM;
	for (uint32_t number = 0; number < source->count; number++) {
		store->list[number] = (struct xattr){
			.name = source->list[number].name,
			.value = source->list[number].value,
			.value_bytes = source->list[number].value_bytes,
		};
	}
	errcode_t error = xattr_place(&build->format, store->list, source->count, &store->layout);
	if (!error)
		error = list_values(build, set);
	if (error)
		return error;
	store->inline_room_bytes = inline_data_room(&build->format, NULL);
	if (!store->layout.in_inode)
		return 0;
	store->inode_area = malloc(inode_xattr_area_bytes(&build->format));
	if (!store->inode_area)
		return ENOMEM;
	error = xattr_encode_inode(&build->format, store->list, source->count, &store->layout, store->inode_area);
	if (!error)
		store->inline_room_bytes = inline_data_room(&build->format, store->inode_area);
	return error;
}

static errcode_t set_problem(const struct build *build, uint32_t node, errcode_t error,
                             struct problem *problem)
{
	SCOPE_FREE char *path = tree_path(build->tree, node);

	if (error == E2BIG)
		return problem_set_reason(problem, error, path, "cannot store its extended attributes",
		                          "they need more than an inode and a block of %" PRIu32 " bytes hold%s",
		                          build->format.block_bytes,
		                          build->format.ea_inode ? "" : " (the feature ea_inode would help)");
	return problem_set(problem, error, path, "cannot store its extended attributes");
}

static uint64_t blocks_of(const struct xattr_store *store)
{
	if (!store->layout.needs_block)
		return 0;
	return (store->users + XATTR_MAX_REFERENCES - 1) / XATTR_MAX_REFERENCES;
}

uint64_t xattrs_clusters(const struct build *build)
{
	uint64_t clusters = 0;

	for (uint32_t set = 0; set < build->tree->xattr_set_count; set++)
		clusters += blocks_of(&build->xattrs[set]);
	return clusters + xattr_values_clusters(build);
}

/* A value is referred to by each inode that has such an entry, and by each block, however many inodes share that. */
static void count_references(struct build *build)
{
	for (uint32_t set = 0; set < build->tree->xattr_set_count; set++) {
		const struct xattr_store *store = &build->xattrs[set];

		for (uint32_t number = 0; store->values && number < build->tree->xattr_sets[set].count; number++) {
			if (store->layout.in_value_inode >> number & 1)
				build->xattr_values[store->values[number]].references +=
					store->layout.in_inode >> number & 1 ? store->users : blocks_of(store);
		}
	}
}

errcode_t xattrs_lay_out(struct build *build, struct problem *problem)
{
	const struct tree *tree = build->tree;

	xattrs_release(build);
	build->xattrs = calloc(tree->xattr_set_count, sizeof(*build->xattrs));
	if (!build->xattrs)
		return problem_set(problem, ENOMEM, NULL, "cannot plan the image");
	build->xattrs[TREE_NO_XATTRS].inline_room_bytes = inline_data_room(&build->format, NULL);
	for (uint32_t node = 0; node < tree->node_count; node++) {
		uint32_t set = tree->nodes[node].xattrs;

		if (set == TREE_NO_XATTRS || tree_node_is_link(tree, node))
			continue;
		if (build->xattrs[set].users == 0) {
			errcode_t error = lay_out_set(build, set);

			if (error)
				return set_problem(build, node, error, problem);
		}
		xattrs_share(&build->xattrs[set], &build->placements[node]);
	}
	count_references(build);
	return 0;
}

/* Names the inodes, whose numbers are known now, in the entries. */
static errcode_t name_values(const struct build *build, uint32_t set)
{
	struct xattr_store *store = &build->xattrs[set];
	uint32_t count = build->tree->xattr_sets[set].count;

	if (!store->values)
		return 0;
	for (uint32_t number = 0; number < count; number++) {
		if (store->layout.in_value_inode >> number & 1) {
			store->list[number].value_ino = build->xattr_values[store->values[number]].ino;
			store->list[number].value_hash = build->xattr_values[store->values[number]].hash;
		}
	}
	if (!store->inode_area)
		return 0;
	return xattr_encode_inode(&build->format, store->list, count, &store->layout, store->inode_area);
}

static errcode_t place_set(const struct build *build, uint32_t set, struct pack_range *range)
{
	struct xattr_store *store = &build->xattrs[set];
	uint64_t count = blocks_of(store);
	errcode_t error = 0;

	store->blocks = calloc(count ? count : 1, sizeof(*store->blocks));
	if (!store->blocks)
		return ENOMEM;
	for (uint64_t share = 0; !error && share < count; share++) {
		struct ext2mb_extent extent;

		error = pack_range_take(range, 1u << build->format.cluster_bits, &extent);
		if (!error)
			store->blocks[share] = extent.start;
	}
	return error;
}

errcode_t xattrs_place(struct build *build)
{
	struct pack_range range = { .worker = build->workers[0] };
	errcode_t error = 0;

	for (uint32_t set = 1; !error && set < build->tree->xattr_set_count; set++)
		error = place_set(build, set, &range);
	if (!error)
		error = xattr_values_place(build, &range);
	return build_result(build, error, "cannot place extended attributes");
}

static errcode_t write_set(const struct build *build, uint32_t set, struct run_writer *writer)
{
	const struct xattr_store *store = &build->xattrs[set];
	uint64_t left = store->users;
	errcode_t error = 0;

	for (uint64_t share = 0; !error && share < blocks_of(store); share++) {
		uint32_t references = left < XATTR_MAX_REFERENCES ? (uint32_t)left : XATTR_MAX_REFERENCES;
		void *bytes;

		left -= references;
		error = run_writer_reserve(writer, store->blocks[share], 1, &bytes);
		if (!error)
			error = xattr_encode_block(&build->format, store->list, build->tree->xattr_sets[set].count,
			                           &store->layout, store->blocks[share], references, bytes);
	}
	return error;
}

errcode_t xattrs_write(struct build *build)
{
	struct run_writer writer = run_writer_create(&build->image, build->format.block_bytes);
	errcode_t error = 0;

	for (uint32_t set = 1; !error && set < build->tree->xattr_set_count; set++) {
		error = name_values(build, set);
		if (!error)
			error = write_set(build, set, &writer);
	}
	if (!error)
		error = xattr_values_write(build, &writer);
	if (!error)
		error = run_writer_flush(&writer);
	run_writer_free(&writer);
	return build_result(build, error, "cannot write extended attributes");
}

uint64_t xattrs_block_of(const struct build *build, uint32_t node)
{
	const struct xattr_store *store = &build->xattrs[build_node(build, node)->xattrs];

	return store->layout.needs_block ? store->blocks[build->placements[node].xattr_share] : 0;
}

void xattrs_release(struct build *build)
{
	for (uint32_t set = 0; build->xattrs && set < build->tree->xattr_set_count; set++) {
		free(build->xattrs[set].list);
		free(build->xattrs[set].inode_area);
		free(build->xattrs[set].values);
		free(build->xattrs[set].blocks);
	}
	free(TAKE(build->xattrs));
	xattr_values_release(build);
}
