/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/pack/pack_index.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/pack/pack_places.h"
#include "tree/details.h"

struct making {
	const struct pack_layer *layer;
	const struct tree *tree;
	struct pack_lists lists;
	/* How far each list has been filled. */
	uint32_t map, segment, link, xattr;
	uint64_t string;
};

static bool is_below(const struct making *making, const struct tree_node *node)
{
	return making->layer->below && links_below_find(making->layer->below, node);
}

/* Has the node contents of its own in a pack? */
static bool has_contents(const struct tree *tree, uint32_t number)
{
	return S_ISREG(tree->nodes[number].mode) && !tree_node_is_link(tree, number);
}

errcode_t pack_contents_bytes(const struct tree *tree, uint64_t *bytes)
{
	errcode_t error = 0;

	*bytes = 0;
	for (uint32_t i = 0; !error && i < tree->node_count; i++) {
		const struct tree_node *node = &tree->nodes[i];

		if (has_contents(tree, i))
			error = pack_places_add(node->size_bytes, node->is_sparse ? node->data_map : NULL, bytes, NULL);
	}
	return error;
}

/* Archives have no more than the times, and no marks that only images have. */
static bool is_of_archive(const struct tree *tree, const struct tree_node *node)
{
	const struct tree_detail *detail = tree_detail(tree, node);

	return !node->is_casefolded && !node->is_encrypted && !node->is_opaque && !detail->project &&
	       !detail->inode_number && !detail->generation && !detail->verity && !detail->is_unloaded;
}

/* Counts what a node adds to the lists. */
static errcode_t count_node(struct making *making, uint32_t number, uint64_t *segments)
{
	const struct tree_node *node = &making->tree->nodes[number];
	struct pack_counts *counts = &making->lists.counts;

	if (!is_of_archive(making->tree, node))
		return ENOTSUP;
	counts->string_bytes += node->name_bytes + 1u;
	if (tree_node_is_link(making->tree, number))
		return 0;
	/* A link whose name was replaced is not in the tree, though it is in the list. */
	if (is_below(making, node)) {
		counts->links_below++;
		counts->string_bytes += strlen(links_below_find(making->layer->below, node)->target) + 1;
	}
	if (S_ISLNK(node->mode))
		counts->string_bytes += node->size_bytes + 1;
	if (S_ISREG(node->mode) && node->is_sparse) {
		counts->maps++;
		*segments += node->data_map->count;
	}
	return 0;
}

static void count_xattrs(struct pack_counts *counts, const struct tree *tree, uint64_t *xattrs)
{
	for (uint32_t i = 1; i < tree->xattr_set_count; i++) {
		const struct tree_xattr_set *set = &tree->xattr_sets[i];

		*xattrs += set->count;
		for (uint32_t n = 0; n < set->count; n++)
			counts->string_bytes += strlen(set->list[n].name) + set->list[n].value_bytes + 2ul;
	}
}

static void count_zeros(struct pack_counts *counts, const struct tree *tree)
{
	bool is_known = true;

	for (uint32_t i = 0; i < tree->node_count; i++)
		if (has_contents(tree, i) && tree->nodes[i].size_bytes)
			is_known = is_known && tree->origins[tree->nodes[i].origin].knows_zeros;
	counts->marks |= is_known ? PACK_KNOWS_ZEROS : 0;
	for (uint32_t i = 0; i < tree->origin_count; i++) {
		counts->zero_pieces += tree->origins[i].zero_pieces;
		counts->zero_ends += tree->origins[i].zero_ends;
	}
}

static errcode_t count(struct making *making)
{
	const struct pack_layer *layer = making->layer;
	const struct tree *tree = making->tree;
	struct pack_counts *counts = &making->lists.counts;
	uint64_t segments = 0, xattrs = 0;
	errcode_t error = 0;

	counts->nodes = tree->node_count;
	for (uint32_t i = 0; !error && i < tree->node_count; i++)
		error = count_node(making, i, &segments);
	if (error)
		return error;
	count_xattrs(counts, tree, &xattrs);
	count_zeros(counts, tree);
	if (counts->string_bytes > UINT32_MAX || segments > UINT32_MAX || xattrs > UINT32_MAX ||
	    tree->detail_count > UINT32_MAX)
		return EFBIG;
	counts->segments = (uint32_t)segments;
	counts->xattrs = (uint32_t)xattrs;
	counts->xattr_sets = tree->xattr_set_count - 1;
	counts->details = tree->detail_count ? (uint32_t)tree->detail_count - 1 : 0;
	counts->marks |= layer->below && layer->below->count ? PACK_HAD_LINKS_BELOW : 0;
	counts->marks |= layer->left_out_whiteouts ? PACK_LEFT_OUT_WHITEOUTS : 0;
	counts->marks |= counts->links_below && layer->below->order ? PACK_HAS_ORDER : 0;
	if (layer->counts) {
		counts->names = layer->counts->names;
		counts->metadata_bytes = layer->counts->metadata_bytes;
		counts->unpacked_bytes = layer->counts->unpacked_bytes;
		counts->path_bytes = layer->counts->path_bytes;
	}
	return 0;
}

/* Adds bytes and a NUL to the strings; returns where they begin. There is room for all. */
static uint32_t put_string(struct making *making, const void *bytes, uint64_t count)
{
	uint64_t at = making->string;

	memcpy(making->lists.strings + at, bytes, count);
	making->lists.strings[at + count] = '\0';
	making->string += count + 1;
	return htole32((uint32_t)at);
}

static void put_map(struct making *making, const struct tree_data_map *map)
{
	making->lists.map_counts[making->map++] = htole32(map->count);
	for (uint32_t i = 0; i < map->count; i++)
		making->lists.segments[making->segment++] =
			(struct pack_segment){ htole64(map->segments[i].start_bytes),
			                       htole64(map->segments[i].length_bytes) };
}

static uint8_t marks_of(const struct tree_node *node)
{
	return (uint8_t)((S_ISREG(node->mode) && node->is_sparse ? PACK_NODE_SPARSE : 0) |
	                 (node->is_implied ? PACK_NODE_IMPLIED : 0) | (node->has_flags ? PACK_NODE_FLAGS : 0) |
	                 (node->has_lost_acl ? PACK_NODE_LOST_ACL : 0) |
	                 (node->has_lost_xattr ? PACK_NODE_LOST_XATTR : 0));
}

static void put_attributes(struct making *making, const struct tree_node *node, struct pack_node *stored)
{
	stored->marks = marks_of(node);
	stored->uid = htole32(node->uid);
	stored->gid = htole32(node->gid);
	stored->mtime_seconds = htole64((uint64_t)node->mtime_seconds);
	stored->mtime_nanoseconds = htole32(node->mtime_nanoseconds);
	stored->flags = htole32(node->flags);
	stored->xattrs = htole32(node->xattrs);
	stored->detail = htole32(node->detail);
	if (S_ISREG(node->mode) || S_ISLNK(node->mode))
		stored->size_bytes = htole64(node->size_bytes);
	if (S_ISLNK(node->mode))
		stored->value = htole64(le32toh(put_string(making, node->target, node->size_bytes)));
	else if (S_ISCHR(node->mode) || S_ISBLK(node->mode))
		stored->value = htole64((uint64_t)node->device.major << 32 | node->device.minor);
	else if (S_ISREG(node->mode) && node->is_sparse)
		put_map(making, node->data_map);
}

/* Links to files below are numbered in the order of nodes, as they are read. */
static void put_link(struct making *making, const struct tree_node *node)
{
	const struct link_below *link = links_below_find(making->layer->below, node);

	making->lists.links[making->link++] =
		(struct pack_link){ put_string(making, link->target, strlen(link->target)), htole32(link->order) };
}

static void put_node(struct making *making, uint32_t number)
{
	const struct tree_node *node = &making->tree->nodes[number];
	struct pack_node *stored = &making->lists.nodes[number];
	bool is_directory = S_ISDIR(node->mode);

	*stored = (struct pack_node){
		.name = put_string(making, node->name, node->name_bytes),
		.name_bytes = node->name_bytes,
		.mode = htole16(node->mode),
		.relation = htole32(is_directory ? node->child_count : node->link_to),
	};
	if (tree_node_is_link(making->tree, number))
		return;
	if (is_below(making, node)) {
		stored->marks = PACK_NODE_BELOW;
		put_link(making, node);
		return;
	}
	put_attributes(making, node, stored);
}

static void put_xattrs(struct making *making)
{
	const struct tree *tree = making->tree;

	for (uint32_t i = 1; i < tree->xattr_set_count; i++) {
		const struct tree_xattr_set *set = &tree->xattr_sets[i];

		making->lists.set_counts[i - 1] = htole32(set->count);
		for (uint32_t n = 0; n < set->count; n++) {
			const struct tree_xattr *xattr = &set->list[n];
			uint32_t name = put_string(making, xattr->name, strlen(xattr->name));

			making->lists.xattrs[making->xattr++] =
				(struct pack_xattr){ name, put_string(making, xattr->value, xattr->value_bytes),
				                     htole32(xattr->value_bytes) };
		}
	}
}

static void put_details(const struct making *making)
{
	for (uint32_t i = 0; i < making->lists.counts.details; i++) {
		const struct tree_detail *detail = &making->tree->details[i + 1];
		const struct tree_time times[PACK_TIMES] = { detail->atime, detail->ctime, detail->crtime };
		struct pack_detail *stored = &making->lists.details[i];
		uint32_t known = 0;

		for (unsigned int n = 0; n < PACK_TIMES; n++) {
			stored->seconds[n] = htole64((uint64_t)times[n].seconds);
			stored->nanoseconds[n] = htole32(times[n].nanoseconds);
			known |= times[n].is_known ? 1u << n : 0;
		}
		stored->known = htole32(known);
	}
}

static void put_counts(const struct pack_counts *counts, struct pack_counts *stored)
{
	*stored = (struct pack_counts){
		.nodes = htole32(counts->nodes),
		.xattr_sets = htole32(counts->xattr_sets),
		.xattrs = htole32(counts->xattrs),
		.details = htole32(counts->details),
		.maps = htole32(counts->maps),
		.segments = htole32(counts->segments),
		.links_below = htole32(counts->links_below),
		.marks = htole32(counts->marks),
		.string_bytes = htole64(counts->string_bytes),
		.zero_pieces = htole64(counts->zero_pieces),
		.zero_ends = htole64(counts->zero_ends),
		.names = htole64(counts->names),
		.metadata_bytes = htole64(counts->metadata_bytes),
		.unpacked_bytes = htole64(counts->unpacked_bytes),
		.path_bytes = htole64(counts->path_bytes),
	};
}

static void fill(struct making *making, const uint32_t *checksums)
{
	const struct pack_lists *lists = &making->lists;

	for (uint32_t i = 0; i < making->tree->node_count; i++)
		put_node(making, i);
	put_xattrs(making);
	put_details(making);
	for (uint32_t i = 0; lists->counts.marks & PACK_HAS_ORDER && i < lists->counts.nodes; i++)
		lists->order[i] = htole32(making->layer->below->order[i]);
	for (uint64_t i = 0; i < lists->slices; i++)
		lists->checksums[i] = htole32(checksums[i]);
}

errcode_t pack_index_make(const struct pack_layer *layer, const uint32_t *checksums, void **ret, uint64_t *bytes)
{
	struct making making = { .layer = layer, .tree = layer->tree };
	uint64_t contents_bytes;
	errcode_t error = pack_contents_bytes(layer->tree, &contents_bytes);

	*ret = NULL;
	if (!error)
		error = count(&making);
	if (error)
		return error;
	making.lists.slices = pack_slices(contents_bytes);
	*bytes = pack_lists_place(&making.lists, NULL);
	if (*bytes > SIZE_MAX / 2)
		return EFBIG;
	void *index = calloc(1, *bytes);

	if (!index)
		return ENOMEM;
	pack_lists_place(&making.lists, index);
	fill(&making, checksums);
	put_counts(&making.lists.counts, index);
	*ret = index;
	return 0;
}
