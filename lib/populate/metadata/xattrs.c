/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/run_writer.h"
#include "populate/metadata/xattrs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "support/vector.h"

/* With a million different values, which have at least 4 KiB each, a bucket has 16. */
#define BUCKETS 65536u
#define NONE UINT32_MAX

static uint32_t value_blocks(const struct plan *plan, const struct xattr_value *value)
{
	return (value->value_bytes + plan->format.block_bytes - 1) >> plan->format.block_bits;
}

static errcode_t make_buckets(struct plan *plan)
{
	plan->xattrs.buckets = malloc(BUCKETS * sizeof(*plan->xattrs.buckets));
	if (!plan->xattrs.buckets)
		return ENOMEM;
	for (uint32_t bucket = 0; bucket < BUCKETS; bucket++)
		plan->xattrs.buckets[bucket] = NONE;
	return 0;
}

static uint32_t find_value(const struct plan *plan, const struct xattr_value *wanted)
{
	uint32_t number = plan->xattrs.buckets[wanted->hash % BUCKETS];

	for (; number != NONE; number = plan->xattrs.values[number].next) {
		const struct xattr_value *value = &plan->xattrs.values[number];

		if (value->hash == wanted->hash && value->value_bytes == wanted->value_bytes &&
		    memcmp(value->bytes, wanted->bytes, wanted->value_bytes) == 0)
			break;
	}
	return number;
}

/*
 * Finds an equal value, or adds the value. *number is its index in plan->xattrs.values, in the order of the first
 * calls.
 */
static errcode_t add_value(struct plan *plan, const struct xattr *xattr, uint32_t *number)
{
	struct xattr_value value = { 0 };
	errcode_t error = plan->xattrs.buckets ? 0 : make_buckets(plan);

	SCOPE_FREE void *bytes = NULL;

	if (!error)
		error = xattr_value_encode(&plan->format, xattr, &bytes, &value.value_bytes, &value.hash);
	if (error)
		return error;
	value.bytes = bytes;
	*number = find_value(plan, &value);
	if (*number != NONE)
		return 0;
	error = vector_reserve(&plan->xattrs.values, &plan->xattrs.value_capacity, plan->xattrs.value_count + 1,
	                       sizeof(*plan->xattrs.values));
	if (error)
		return error;
	uint32_t *bucket = &plan->xattrs.buckets[value.hash % BUCKETS];

	value.bytes = TAKE(bytes);
	value.next = *bucket;
	*bucket = *number = (uint32_t)plan->xattrs.value_count;
	plan->xattrs.values[plan->xattrs.value_count++] = value;
	return 0;
}

/* Returns how many clusters all values take. */
static uint64_t values_clusters(const struct plan *plan)
{
	uint64_t clusters = 0;

	for (size_t number = 0; number < plan->xattrs.value_count; number++) {
		struct file_extent extent = { .count = value_blocks(plan, &plan->xattrs.values[number]),
			                      .physical = 1 };

		/* A value has at most 64 blocks, so it never has more extents than an inode holds. */
		clusters += plan_clusters(plan, extent.count) + file_map_blocks(&plan->format, &extent, 1);
	}
	return clusters;
}

static errcode_t place_value(const struct plan *plan, struct xattr_value *value, struct pack_range *range)
{
	uint32_t left = value_blocks(plan, value);
	SCOPE_FREE struct file_extent *extents = calloc(left, sizeof(*extents));
	struct extent_list list = { .extents = extents };

	if (!extents)
		return ENOMEM;
	for (uint32_t logical = 0; left; list.count++) {
		struct ext2mb_extent taken;
		errcode_t error =
			pack_range_alloc(range, plan_clusters(plan, left) << plan->format.cluster_bits, &taken);

		if (error)
			return error;
		uint32_t blocks = taken.count < left ? (uint32_t)taken.count : left;

		/* Each run that was taken is one extent, even if runs touch. */
		extents[list.count] =
			(struct file_extent){ .logical = logical, .count = blocks, .physical = taken.start };
		logical += blocks;
		left -= blocks;
		value->clusters += plan_clusters(plan, blocks);
	}
	uint64_t map_blocks = file_map_blocks(&plan->format, extents, list.count);

	value->clusters += map_blocks;
	value->map = extent_map_create(&list, (uint32_t)map_blocks);
	return value->map ? plan_alloc_clusters(plan, range, value->map->map_blocks, map_blocks) : ENOMEM;
}

/*
 * A set in the form of lib/ondisk. It is made when it is needed: even three million sets stay in memory only in the
 * tree's form. The numbers of values' inodes are valid once the values have inodes.
 */
struct set_list {
	struct xattr list[XATTR_MAX_COUNT];
	uint32_t count;
};

/* E2BIG: a file cannot have so many. */
static errcode_t list_set(const struct plan *plan, uint32_t set, struct set_list *ret)
{
	const struct tree_xattr_set *source = &plan->source->tree->xattr_sets[set];
	const uint32_t *values = plan->xattrs.stores[set].values;

	if (source->count > XATTR_MAX_COUNT)
		return E2BIG;
	ret->count = source->count;
	for (uint32_t number = 0; number < source->count; number++) {
		const struct xattr_value *value = values ? &plan->xattrs.values[values[number]] : NULL;

		ret->list[number] = (struct xattr){
			.name = source->list[number].name,
			.value = source->list[number].value,
			.value_bytes = source->list[number].value_bytes,
		};
		if (value && plan->xattrs.stores[set].layout.in_value_inode >> number & 1) {
			ret->list[number].value_ino = value->ino;
			ret->list[number].value_hash = value->hash;
		}
	}
	return 0;
}

/* Lists the values that have inodes of their own. */
static errcode_t list_values(struct plan *plan, uint32_t set, const struct set_list *source)
{
	struct xattr_store *store = &plan->xattrs.stores[set];
	errcode_t error = 0;

	if (!store->layout.in_value_inode)
		return 0;
	store->values = calloc(source->count, sizeof(*store->values));
	if (!store->values)
		return ENOMEM;
	for (uint32_t number = 0; !error && number < source->count; number++)
		if (store->layout.in_value_inode >> number & 1)
			error = add_value(plan, &source->list[number], &store->values[number]);
	return error;
}

/* The room for content depends on the xattrs before it, so these have to be encoded once. */
static errcode_t find_inline_room(const struct plan *plan, const struct set_list *source, struct xattr_store *store)
{
	store->inline_room_bytes = inline_data_room(&plan->format, NULL);
	if (!store->layout.in_inode || !plan->format.inline_data)
		return 0;
	SCOPE_FREE void *area = malloc(inode_xattr_area_bytes(&plan->format));
	errcode_t error =
		area ? xattr_encode_inode(&plan->format, source->list, source->count, &store->layout, area) : ENOMEM;

	if (!error)
		store->inline_room_bytes = inline_data_room(&plan->format, area);
	return error;
}

static errcode_t lay_out_set(struct plan *plan, uint32_t set)
{
	struct xattr_store *store = &plan->xattrs.stores[set];
	struct set_list source;
	errcode_t error = list_set(plan, set, &source);

	if (!error)
		error = xattr_place(&plan->format, source.list, source.count, &store->layout);
	if (!error)
		error = list_values(plan, set, &source);
	return error ? error : find_inline_room(plan, &source, store);
}

static errcode_t set_problem(const struct plan *plan, uint32_t node, errcode_t error, struct problem *problem)
{
	SCOPE_FREE char *path = tree_path(plan->source->tree, node);

	if (error == E2BIG)
		return problem_set_reason(problem, error, path, "cannot store its extended attributes",
		                          "they need more than an inode and a block of %" PRIu32 " bytes hold%s",
		                          plan->format.block_bytes,
		                          plan->format.ea_inode ? "" : " (the feature ea_inode would help)");
	return problem_set(problem, error, path, "cannot store its extended attributes");
}

static uint64_t blocks_of(const struct xattr_store *store)
{
	if (!store->layout.needs_block)
		return 0;
	return (store->users + XATTR_MAX_REFERENCES - 1) / XATTR_MAX_REFERENCES;
}

uint64_t xattrs_clusters(const struct plan *plan)
{
	uint64_t clusters = 0;

	for (uint32_t set = 0; set < plan->source->tree->xattr_set_count; set++)
		clusters += blocks_of(&plan->xattrs.stores[set]);
	return clusters + values_clusters(plan);
}

/*
 * Each inode that has such an entry counts as a reference to the value. So does each block, however many inodes share
 * it.
 */
static void count_references(struct plan *plan)
{
	for (uint32_t set = 0; set < plan->source->tree->xattr_set_count; set++) {
		const struct xattr_store *store = &plan->xattrs.stores[set];

		for (uint32_t number = 0; store->values && number < plan->source->tree->xattr_sets[set].count;
		     number++) {
			if (store->layout.in_value_inode >> number & 1)
				plan->xattrs.values[store->values[number]].references +=
					store->layout.in_inode >> number & 1 ? store->users : blocks_of(store);
		}
	}
}

/* mke2fs's lost+found is not a node, but may have a label, which it shares as nodes do. */
static errcode_t lay_out_lost_found(struct plan *plan, struct problem *problem)
{
	uint32_t set = plan->source->lost_found_set;
	struct xattr_store *store = &plan->xattrs.stores[set];
	errcode_t error = set == TREE_NO_XATTRS || store->users ? 0 : lay_out_set(plan, set);

	if (set != TREE_NO_XATTRS)
		plan->xattrs.lost_found_share = store->users++ / XATTR_MAX_REFERENCES;
	return error ? problem_set(problem, error, "lost+found", "cannot store its extended attributes") : 0;
}

errcode_t xattrs_lay_out(struct plan *plan, struct problem *problem)
{
	const struct tree *tree = plan->source->tree;

	xattrs_release(plan);
	plan->xattrs.stores = calloc(tree->xattr_set_count, sizeof(*plan->xattrs.stores));
	if (!plan->xattrs.stores)
		return problem_set(problem, ENOMEM, NULL, "cannot plan the image");
	plan->xattrs.stores[TREE_NO_XATTRS].inline_room_bytes = inline_data_room(&plan->format, NULL);
	for (uint32_t node = 0; tree->xattr_set_count > 1 && node < tree->node_count; node++) {
		uint32_t set = tree->nodes[node].xattrs;

		if (set == TREE_NO_XATTRS || tree_node_is_link(tree, node))
			continue;
		if (plan->xattrs.stores[set].users == 0) {
			errcode_t error = lay_out_set(plan, set);

			if (error)
				return set_problem(plan, node, error, problem);
		}
		xattrs_share(&plan->xattrs.stores[set], &plan->placements[node]);
	}
	errcode_t error = lay_out_lost_found(plan, problem);

	if (!error)
		count_references(plan);
	return error;
}

errcode_t xattrs_encode(const struct plan *plan, uint32_t set, void *area)
{
	struct set_list source;
	errcode_t error = list_set(plan, set, &source);

	return error ? error :
	               xattr_encode_inode(&plan->format, source.list, source.count, &plan->xattrs.stores[set].layout,
	                                  area);
}

uint64_t xattrs_value_clusters(const struct plan *plan, uint32_t set)
{
	const struct xattr_store *store = &plan->xattrs.stores[set];
	uint64_t clusters = 0;

	for (uint32_t number = 0; store->values && number < plan->source->tree->xattr_sets[set].count; number++)
		if (store->layout.in_value_inode >> number & 1)
			clusters +=
				plan_clusters(plan, value_blocks(plan, &plan->xattrs.values[store->values[number]]));
	return clusters;
}

/* Encodes a set once for all inodes that share it. The numbers of values' inodes are known by now. */
static errcode_t encode_shared(const struct plan *plan, uint32_t set)
{
	struct xattr_store *store = &plan->xattrs.stores[set];

	if (!store->layout.in_inode || store->users < 2)
		return 0;
	store->inode_area = malloc(inode_xattr_area_bytes(&plan->format));
	return store->inode_area ? xattrs_encode(plan, set, store->inode_area) : ENOMEM;
}

static errcode_t place_set(const struct plan *plan, uint32_t set, struct pack_range *range)
{
	struct xattr_store *store = &plan->xattrs.stores[set];
	uint64_t count = blocks_of(store);

	if (!count)
		return 0;
	store->blocks = calloc(count, sizeof(*store->blocks));
	return store->blocks ? plan_alloc_clusters(plan, range, store->blocks, count) : ENOMEM;
}

errcode_t xattrs_place(struct plan *plan, const struct filesystem *filesystem, const struct workplace *work)
{
	struct pack_range range = { .worker = filesystem->workers[0] };
	uint32_t lost_found = plan->source->lost_found_set;
	errcode_t error = 0;

	/* A block must not count users that do not exist: some of mke2fs's options leave lost+found out. */
	if (lost_found != TREE_NO_XATTRS && !plan->lost_found)
		plan->xattrs.stores[lost_found].users--;
	for (uint32_t set = 1; !error && set < plan->source->tree->xattr_set_count; set++)
		error = place_set(plan, set, &range);
	for (size_t number = 0; !error && number < plan->xattrs.value_count; number++)
		error = place_value(plan, &plan->xattrs.values[number], &range);
	return workplace_result(work, error, "cannot place extended attributes");
}

static errcode_t write_set(const struct plan *plan, uint32_t set, struct run_writer *writer)
{
	const struct xattr_store *store = &plan->xattrs.stores[set];
	struct set_list source;
	uint64_t left = store->users;
	errcode_t error = 0;

	if (!store->layout.needs_block)
		return 0;
	error = list_set(plan, set, &source);
	for (uint64_t share = 0; !error && share < blocks_of(store); share++) {
		uint32_t references = left < XATTR_MAX_REFERENCES ? (uint32_t)left : XATTR_MAX_REFERENCES;
		void *bytes;

		left -= references;
		error = run_writer_reserve(writer, store->blocks[share], 1, &bytes);
		if (!error)
			error = xattr_encode_block(&plan->format, source.list, source.count, &store->layout,
			                           store->blocks[share], references, bytes);
	}
	return error;
}

errcode_t xattrs_write(const struct plan *plan, struct sink *sink, const struct workplace *work)
{
	struct run_writer writer = run_writer_create(sink);
	errcode_t error = 0;

	for (uint32_t set = 1; !error && set < plan->source->tree->xattr_set_count; set++) {
		error = encode_shared(plan, set);
		if (!error)
			error = write_set(plan, set, &writer);
	}
	for (size_t number = 0; !error && number < plan->xattrs.value_count; number++) {
		const struct xattr_value *value = &plan->xattrs.values[number];

		error = run_writer_copy(&writer, value->map->extents, value->map->extent_count, value->bytes,
		                        value->value_bytes);
	}
	if (!error)
		error = run_writer_flush(&writer);
	run_writer_free(&writer);
	return workplace_result(work, error, "cannot write extended attributes");
}

uint64_t xattrs_block_of(const struct plan *plan, uint32_t node)
{
	const struct xattr_store *store = &plan->xattrs.stores[plan_node(plan, node)->xattrs];

	return store->layout.needs_block ? store->blocks[plan->placements[node].xattr_share] : 0;
}

errcode_t xattr_value_encode_inode(const struct plan *plan, struct sink *sink, uint32_t number, void *bytes)
{
	const struct xattr_value *value = &plan->xattrs.values[number];
	struct inode_value inode = {
		.mode = S_IFREG | 0600,
		.links = 1,
		.size_bytes = value->value_bytes,
		.flags = EXT4_EA_INODE_FL | (plan->format.extents ? EXT4_EXTENTS_FL : 0),
		/*
		 * Such an inode has no times: the fields hold its hash and its reference count, whose upper half is in
		 * ctime.
		 */
		.atime.seconds = (int32_t)value->hash,
		.version = value->references,
		.blocks = value->clusters << plan->format.cluster_bits,
	};

	errcode_t error = plan_write_map(plan, sink, value->ino, value->map->extents, value->map->extent_count,
	                                 value->map, &inode);

	return error ? error : inode_encode(&plan->format, value->ino, &inode, NULL, bytes);
}

void xattrs_release(struct plan *plan)
{
	for (uint32_t set = 0; plan->xattrs.stores && set < plan->source->tree->xattr_set_count; set++) {
		free(plan->xattrs.stores[set].inode_area);
		free(plan->xattrs.stores[set].values);
		free(plan->xattrs.stores[set].blocks);
	}
	free(TAKE(plan->xattrs.stores));
	for (size_t number = 0; number < plan->xattrs.value_count; number++) {
		free(plan->xattrs.values[number].bytes);
		free(plan->xattrs.values[number].map);
	}
	free(TAKE(plan->xattrs.values));
	free(TAKE(plan->xattrs.buckets));
	plan->xattrs.value_count = plan->xattrs.value_capacity = 0;
}
