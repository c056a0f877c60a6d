/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/layers/merge.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/layers/whiteouts.h"
#include "tree/details.h"
#include "support/run/interrupt.h"
#include "support/vector.h"

/* A layer's directory from which a directory of the merged tree is still to be filled. */
struct part {
	uint32_t directory; /* of the merged tree */
	uint32_t layer, node;
};

/* Walks names of a part in their order: either the files or the markers of the part. */
struct cursor {
	const char *name; /* the file's name, or the name that the marker removes */
	uint8_t name_bytes;
	uint32_t layer;
	uint32_t node, end;
	uint32_t gap_start, gap_end; /* nodes to step over; both are `end` if there are none */
	uint32_t prefix_bytes;       /* bytes of the prefix of a marker's name; 0 for files */
};

struct merge {
	struct merge_layer *layers;
	uint32_t layer_count;
	const struct merge_options *options;
	struct directory_links links;
	struct problem first_replaced;
	struct tree *tree;
	size_t node_capacity;
	struct part *parts; /* a stack: the directory to be filled next is on top */
	size_t part_count, part_capacity;
	struct cursor *heap; /* room for two cursors of each layer */
	uint32_t cursor_count;
	struct xattr_table *xattr_table;
	struct xattr_table_memory last_set;
	struct problem *problem;
};

/* Collects the entries of one name in the layers, from the top. */
struct pick {
	const struct merge_layer *layer; /* NULL: nothing yet */
	uint32_t node;                   /* the node that gives the metadata and the contents */
	const char *name;
	uint8_t name_bytes;
	bool is_whiteout;
	bool is_provisional; /* only whiteouts imply the node: whatever a lower layer has takes its place */
	bool is_closed;      /* no lower layer matters, not even for parts that are not kept yet */
	bool hides;          /* a directory: it hides the names that lower layers have in it */
	size_t kept_parts;   /* further ones are of provisional directories: a file below takes their place */
	const struct merge_layer *lowest; /* of the directories that were met; NULL: none, or it shall replace links */
	uint32_t lowest_node;
	bool is_part;           /* a layer's directory has been made a part of this one */
	bool is_encrypted_part; /* such a directory is encrypted */
};

/*
 * Orders cursors by name. For one name the topmost layer comes first, and a layer's files come before its markers,
 * which do not affect them.
 */
static bool comes_before(const struct cursor *one, const struct cursor *other)
{
	int order = tree_name_compare(one->name, one->name_bytes, other->name, other->name_bytes);

	if (order)
		return order < 0;
	if (one->layer != other->layer)
		return one->layer > other->layer;
	return one->prefix_bytes < other->prefix_bytes;
}

static void sift_down(struct merge *merge, uint32_t at)
{
	struct cursor *heap = merge->heap;
	struct cursor moved = heap[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= merge->cursor_count)
			break;
		if (child + 1 < merge->cursor_count && comes_before(&heap[child + 1], &heap[child]))
			child++;
		if (!comes_before(&heap[child], &moved))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

/* Moves a cursor over its gap and to its next name; false if there is no more. */
static bool cursor_settle(const struct merge *merge, struct cursor *cursor)
{
	if (cursor->node == cursor->gap_start)
		cursor->node = cursor->gap_end;
	if (cursor->node == cursor->end)
		return false;
	const struct tree_node *node = &merge->layers[cursor->layer].tree->nodes[cursor->node];

	cursor->name = node->name + cursor->prefix_bytes;
	cursor->name_bytes = (uint8_t)(node->name_bytes - cursor->prefix_bytes);
	return true;
}

static void add_cursor(struct merge *merge, struct cursor cursor)
{
	if (cursor_settle(merge, &cursor))
		merge->heap[merge->cursor_count++] = cursor;
}

static void advance_first(struct merge *merge)
{
	merge->heap[0].node++;
	if (!cursor_settle(merge, &merge->heap[0]))
		merge->heap[0] = merge->heap[--merge->cursor_count];
	if (merge->cursor_count)
		sift_down(merge, 0);
}

static void open_part(struct merge *merge, const struct part *part)
{
	const struct merge_layer *layer = &merge->layers[part->layer];
	const struct tree_node *directory = &layer->tree->nodes[part->node];
	struct whiteout_range range = whiteouts_find(layer, part->node);

	add_cursor(merge, (struct cursor){
				  .layer = part->layer,
				  .node = directory->first_child,
				  .end = directory->first_child + directory->child_count,
				  .gap_start = range.start,
				  .gap_end = range.end,
			  });
	add_cursor(merge, (struct cursor){
				  .layer = part->layer,
				  .node = range.start,
				  .end = range.end,
				  .gap_start = range.own_start,
				  .gap_end = range.own_end,
				  .prefix_bytes = WHITEOUT_PREFIX_BYTES,
			  });
}

/*
 * Refuses to merge an encrypted directory with another layer's directory. The names in it are not known, and new ones
 * cannot be made without its key.
 */
static errcode_t check_encrypted(const struct merge *merge, const struct merge_layer *layer, uint32_t node,
                                 struct pick *pick)
{
	bool is_encrypted = layer->tree->nodes[node].is_encrypted;
	bool is_mixed = pick->is_part && (pick->is_encrypted_part || is_encrypted);

	pick->is_part = true;
	pick->is_encrypted_part = pick->is_encrypted_part || is_encrypted;
	if (!is_mixed)
		return 0;
	SCOPE_FREE char *path = tree_path(layer->tree, node);

	return problem_set_reason(
		merge->problem, EINVAL, path, "cannot merge",
		"%s is encrypted, and without its key nothing can be added to it: --exclude leaves it out",
		is_encrypted ? "this directory" : "the directory of this name in another source");
}

/*
 * Takes a directory of a layer into account. It becomes a part of the next node, unless the layers above hide its
 * contents. Even a hidden directory can give the metadata that an implied directory above it lacks.
 */
static errcode_t consider_directory(struct merge *merge, uint32_t layer_number, uint32_t node, struct pick *pick)
{
	const struct merge_layer *layer = &merge->layers[layer_number];
	errcode_t error = whiteouts_check_file(layer, node, merge->problem);

	if (!error)
		error = vector_reserve(&merge->parts, &merge->part_capacity, merge->part_count + 1,
		                       sizeof(*merge->parts));
	if (error)
		return error;
	if (!pick->hides)
		error = check_encrypted(merge, layer, node, pick);
	if (error)
		return error;
	if (!pick->hides)
		merge->parts[merge->part_count++] = (struct part){ merge->tree->node_count, layer_number, node };
	const struct tree_node *directory = &layer->tree->nodes[node];

	if (!directory->has_only_whiteouts) {
		pick->kept_parts = merge->part_count;
		pick->lowest = layer;
		pick->lowest_node = node;
	}
	if (!pick->layer || (pick->is_provisional && !directory->has_only_whiteouts) ||
	    (pick->layer->tree->nodes[pick->node].is_implied && !directory->is_implied)) {
		pick->layer = layer;
		pick->node = node;
		pick->is_provisional = directory->has_only_whiteouts;
	}
	pick->hides = pick->hides || whiteouts_is_opaque(layer, node, UINT32_MAX);
	pick->is_closed = pick->hides && !pick->layer->tree->nodes[pick->node].is_implied &&
	                  pick->kept_parts == merge->part_count;
	return 0;
}

/*
 * A directory lies over a symbolic link, which may be /lib of a merged-usr root: all that uses it would be lost. A
 * layer that describes the directory means it; else it is as overlayfs would show it, and there is a warning.
 */
static errcode_t replace_link(struct merge *merge, const struct pick *pick)
{
	const struct tree *tree = pick->lowest->tree;
	bool is_layer = pick->lowest->whiteouts != WHITEOUTS_NONE;

	if (is_layer && (!tree->nodes[pick->lowest_node].is_implied || merge->links.replaced++))
		return 0;
	SCOPE_FREE char *path = tree_path(tree, pick->lowest_node);

	if (is_layer)
		problem_set_reason(&merge->first_replaced, ENOTDIR, path, "replaces a symbolic link",
		                   "the layer has no entry for this directory, only for what is in it%s",
		                   merge->options->follows_links ? "" :
		                                                   "; --keep-directory-links would put that where the "
		                                                   "link leads");
	return is_layer ? 0 :
	                  problem_set_reason(merge->problem, ENOTDIR, path, "cannot merge",
	                                     "it is a directory, and a source before it has a symbolic link of this "
	                                     "name%s",
	                                     merge->options->follows_links ?
	                                             ", which leads to no directory" :
	                                             ": --keep-directory-links puts its files where the link leads");
}

/* Takes the next lower entry of the same name into account. */
static errcode_t consider(struct merge *merge, const struct cursor *cursor, struct pick *pick)
{
	const struct merge_layer *layer = &merge->layers[cursor->layer];
	uint32_t node = cursor->node;
	bool is_whiteout = cursor->prefix_bytes || whiteouts_is_whiteout(layer, node);
	errcode_t error = 0;

	if (cursor->prefix_bytes)
		error = whiteouts_check_marker(layer, node, merge->problem);
	if (error)
		return error;
	if (!is_whiteout && S_ISDIR(layer->tree->nodes[node].mode))
		return consider_directory(merge, cursor->layer, node, pick);
	if (pick->lowest && !pick->hides && !is_whiteout && S_ISLNK(layer->tree->nodes[node].mode))
		error = replace_link(merge, pick);
	if (error)
		return error;
	pick->is_closed = pick->hides = true;
	merge->part_count = pick->kept_parts;
	if (pick->layer && !pick->is_provisional)
		return 0;
	pick->is_provisional = false;
	pick->layer = layer;
	pick->node = node;
	pick->is_whiteout = is_whiteout;
	if (is_whiteout)
		return 0;
	uint32_t holder = cursor->layer;

	whiteouts_follow_link(merge->layers, &holder, &pick->node);
	pick->layer = &merge->layers[holder];
	return whiteouts_check_file(layer, node, merge->problem);
}

/* Makes the node the first name of its file in the merged tree, or a further name of that file. */
static errcode_t join_links(struct merge *merge, struct merge_layer *layer, uint32_t first, struct tree_node *node)
{
	uint32_t number = merge->tree->node_count;

	if (!layer->first_names)
		layer->first_names = calloc(layer->tree->node_count, sizeof(*layer->first_names));
	if (!layer->first_names)
		return ENOMEM;
	if (!layer->first_names[first]) {
		layer->first_names[first] = number;
		return 0;
	}
	node->link_to = layer->first_names[first];
	node->links = 0;
	node->detail = merge->tree->nodes[node->link_to].detail;
	merge->tree->nodes[node->link_to].links++;
	return 0;
}

static errcode_t make_node(struct merge *merge, const struct pick *pick, struct tree_node *node)
{
	struct merge_layer *layer = &merge->layers[pick->layer - merge->layers];
	const struct tree_node *nodes = layer->tree->nodes;
	uint32_t first = S_ISDIR(nodes[pick->node].mode) ? pick->node : nodes[pick->node].link_to;
	errcode_t error = 0;

	/* The first name of a file holds the metadata that its names share. */
	*node = nodes[first];
	node->xattrs = layer->set_numbers[node->xattrs];
	node->link_to = merge->tree->node_count;
	if (S_ISDIR(node->mode)) {
		node->first_child = node->child_count = 0;
		node->links = 2;
		/*
		 * The layers hide the directory that the tree below them has here, so that one must not give its
		 * metadata to this one.
		 */
		if (pick->is_closed && merge->options->keeping != WHITEOUTS_DROPPED)
			node->is_implied = false;
		node->is_opaque = pick->hides && merge->options->keeping == WHITEOUTS_AS_MARKS;
		node->has_only_whiteouts = pick->is_provisional;
		if (pick->hides && merge->options->keeping == WHITEOUTS_AS_OVERLAYFS)
			error = whiteouts_intern_xattrs(layer, nodes[first].xattrs, true, merge->xattr_table,
			                                &merge->last_set, &node->xattrs);
	} else {
		node->links = 1;
		if (nodes[first].links > 1)
			error = join_links(merge, layer, first, node);
	}
	if (!error && node->link_to == merge->tree->node_count)
		error = tree_add_detail(merge->tree, tree_detail(layer->tree, &nodes[first]), &node->detail);
	return error;
}

/* Makes a whiteout as overlayfs makes it. The mark is set for a tree that is laid over another one. */
static void make_whiteout(const struct merge *merge, const struct pick *pick, struct tree_node *node)
{
	const struct tree_node *whiteout = &pick->layer->tree->nodes[pick->node];

	*node = (struct tree_node){
		.mode = S_IFCHR,
		.is_opaque = merge->options->keeping == WHITEOUTS_AS_MARKS,
		.link_to = merge->tree->node_count,
		.links = 1,
		.mtime_seconds = whiteout->mtime_seconds,
		.mtime_nanoseconds = whiteout->mtime_nanoseconds,
		.origin = whiteout->origin,
	};
}

/* Adds the node that was picked to the tree's last run, which is that of `directory`. */
static errcode_t add_node(struct merge *merge, uint32_t directory, const struct pick *pick)
{
	struct tree *tree = merge->tree;
	struct tree_node node;
	errcode_t error = 0;

	if (pick->is_whiteout && merge->options->keeping == WHITEOUTS_DROPPED)
		return 0;
	if (pick->is_provisional && merge->options->keeping == WHITEOUTS_DROPPED) {
		merge->part_count = pick->kept_parts;
		return 0;
	}
	if (tree->node_count == UINT32_MAX)
		return problem_set_reason(merge->problem, EOVERFLOW, NULL, "cannot merge the sources",
		                          "there are more than 2^32 files");
	if (pick->is_whiteout)
		make_whiteout(merge, pick, &node);
	else
		error = make_node(merge, pick, &node);
	if (!error)
		error = vector_reserve(&tree->nodes, &merge->node_capacity, tree->node_count + 1ul,
		                       sizeof(*tree->nodes));
	if (error)
		return error;
	node.name = pick->name;
	node.name_bytes = pick->name_bytes;
	node.parent = directory;
	node.origin += pick->layer->first_origin;
	tree->nodes[tree->node_count++] = node;
	if (S_ISDIR(node.mode))
		tree->nodes[directory].links++;
	return 0;
}

static errcode_t merge_name(struct merge *merge, uint32_t directory)
{
	struct pick pick = {
		.name = merge->heap[0].name,
		.name_bytes = merge->heap[0].name_bytes,
		.kept_parts = merge->part_count,
	};
	errcode_t error = 0;

	do {
		if (!pick.is_closed)
			error = consider(merge, &merge->heap[0], &pick);
		if (error)
			return error;
		advance_first(merge);
	} while (merge->cursor_count &&
	         !tree_name_compare(merge->heap[0].name, merge->heap[0].name_bytes, pick.name, pick.name_bytes));
	return add_node(merge, directory, &pick);
}

static void reverse(struct part *parts, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct part swapped = parts[i];

		parts[i] = parts[count - 1 - i];
		parts[count - 1 - i] = swapped;
	}
}

/*
 * Makes the run of the directory on top of the stack. Its subdirectories take its place there, the first of them on
 * top.
 */
static errcode_t merge_directory(struct merge *merge)
{
	struct tree *tree = merge->tree;
	uint32_t directory = merge->parts[merge->part_count - 1].directory;
	uint32_t first_child = tree->node_count;
	errcode_t error = interrupt_pending() ? EINTR : 0;

	while (merge->part_count && merge->parts[merge->part_count - 1].directory == directory)
		open_part(merge, &merge->parts[--merge->part_count]);
	for (uint32_t at = merge->cursor_count / 2; at-- > 0;)
		sift_down(merge, at);
	size_t first_part = merge->part_count;

	while (!error && merge->cursor_count)
		error = merge_name(merge, directory);
	if (error)
		return error;
	reverse(merge->parts + first_part, merge->part_count - first_part);
	tree->nodes[directory].child_count = tree->node_count - first_child;
	if (tree->node_count > first_child)
		tree->nodes[directory].first_child = first_child;
	return 0;
}

static errcode_t merge_root(struct merge *merge)
{
	struct pick pick = { .name = "" };

	for (uint32_t i = merge->layer_count; i-- > 0 && !pick.is_closed;) {
		errcode_t error = consider_directory(merge, i, TREE_ROOT, &pick);

		if (error)
			return error;
	}
	errcode_t error = add_node(merge, TREE_ROOT, &pick);

	/* add_node() has counted the root as a subdirectory of itself. */
	if (!error)
		merge->tree->nodes[TREE_ROOT].links = 2;
	return error;
}

static errcode_t prepare_layer(struct merge *merge, struct merge_layer *layer)
{
	uint32_t set_count = layer->tree->xattr_set_count;
	errcode_t error = whiteouts_read(layer);

	layer->set_numbers = calloc(set_count, sizeof(*layer->set_numbers));
	if (!layer->set_numbers)
		return ENOMEM;
	for (uint32_t set = 0; !error && set < set_count; set++)
		error = whiteouts_intern_xattrs(layer, set, false, merge->xattr_table, &merge->last_set,
		                                &layer->set_numbers[set]);
	return error;
}

/*
 * Moves the layers' origins to the merged tree. This comes last, when nothing else can fail, since messages about the
 * layers need the origins.
 */
static errcode_t copy_origins(struct merge *merge)
{
	struct tree *tree = merge->tree;
	uint32_t count = 0;

	for (uint32_t i = 0; i < merge->layer_count; i++)
		count += merge->layers[i].tree->origin_count;
	tree->origins = malloc(count * sizeof(*tree->origins));
	if (!tree->origins)
		return ENOMEM;
	for (uint32_t i = 0; i < merge->layer_count; i++) {
		struct tree *from = merge->layers[i].tree;

		memcpy(tree->origins + tree->origin_count, from->origins, from->origin_count * sizeof(*from->origins));
		tree->origin_count += from->origin_count;
		from->origin_count = 0;
		arena_join(&tree->memory, &from->memory);
	}
	return 0;
}

/* As if the layers were laid over what is below them one by one. */
static errcode_t follow_links(struct merge *merge)
{
	const struct merge_options *options = merge->options;
	const struct lower_layers lower = { merge->layers, options->has_base_layer, options->below };
	errcode_t error = 0;

	for (uint32_t i = options->below ? lower.first : 1; !error && i < merge->layer_count; i++)
		error = whiteouts_follow_directories(&lower, i, options->pool, &merge->links.followed, merge->problem);
	return error;
}

static errcode_t merge_layers(struct merge *merge)
{
	uint32_t origin_count = 0;
	errcode_t error = xattr_table_create(&merge->xattr_table);

	for (uint32_t i = 0; !error && i < merge->layer_count; i++)
		error = prepare_layer(merge, &merge->layers[i]);
	if (!error && merge->options->follows_links)
		error = follow_links(merge);
	if (!error)
		error = whiteouts_resolve_links(merge->layers, merge->layer_count, merge->options->below,
		                                merge->problem);
	/* Resolving links may have added origins. */
	for (uint32_t i = 0; !error && i < merge->layer_count; i++) {
		merge->layers[i].first_origin = origin_count;
		origin_count += merge->layers[i].tree->origin_count;
	}
	if (!error)
		error = merge_root(merge);
	while (!error && merge->part_count)
		error = merge_directory(merge);
	if (!error)
		error = xattr_table_finish(merge->xattr_table, merge->tree);
	return error ? error : copy_origins(merge);
}

static void release(struct merge *merge)
{
	for (uint32_t i = 0; i < merge->layer_count; i++) {
		struct merge_layer *layer = &merge->layers[i];

		tree_destroy(TAKE(layer->tree));
		links_below_destroy(&layer->below);
		free(TAKE(layer->meanings));
		free(TAKE(layer->set_numbers));
		free(TAKE(layer->first_names));
	}
	xattr_table_destroy(merge->xattr_table);
	tree_destroy(merge->tree);
	free(merge->parts);
	free(merge->heap);
}

/* Tells what has become of symbolic links. */
static errcode_t tell_links(struct merge *merge)
{
	const struct merge_options *options = merge->options;

	if (options->links) {
		options->links->followed += merge->links.followed;
		options->links->replaced += merge->links.replaced;
	}
	return options->warnings && merge->links.replaced ?
	               warnings_add(options->warnings, &merge->first_replaced, merge->links.replaced) :
	               0;
}

errcode_t tree_merge(struct merge_layer *layers, uint32_t count, const struct merge_options *options, struct tree **ret,
                     struct problem *problem)
{
	struct merge merge = {
		.layers = layers,
		.layer_count = count,
		.options = options,
		.tree = calloc(1, sizeof(*merge.tree)),
		.heap = calloc(2ul * count, sizeof(*merge.heap)),
		.problem = problem,
	};
	errcode_t error = merge.heap && merge.tree ? merge_layers(&merge) : ENOMEM;

	if (!error)
		error = tell_links(&merge);
	problem_clear(&merge.first_replaced);
	*ret = error ? NULL : TAKE(merge.tree);
	release(&merge);
	return error ? problem_set(problem, error, NULL, "cannot merge the sources") : 0;
}
