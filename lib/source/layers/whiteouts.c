/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/layers/whiteouts.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "source/layers/directory_links.h"
#include "support/run/interrupt.h"

static const char marker_prefix[] = ".wh.";
static const char own_marker[] = ".wh..wh.";
static const char opaque_marker[] = ".wh..wh..opq";
/* These sort directly after all names that begin with the marker: "/" follows "." in ASCII, and no name contains it. */
static const char after_marker[] = ".wh/";
static const char after_own_marker[] = ".wh..wh/";

/* Bits that tell what an xattr set means to overlayfs. */
#define MEANS_OPAQUE 1u
#define MEANS_WHITEOUT 2u
#define MEANS_REDIRECT 4u
#define MEANS_METACOPY 8u

/* Returns the name after "trusted.overlay." or "user.overlay."; NULL for other xattrs. */
static const char *overlay_name(const char *name)
{
	static const char *const prefixes[] = { "trusted.overlay.", "user.overlay." };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t bytes = strlen(prefixes[i]);

		if (!strncmp(name, prefixes[i], bytes))
			return name + bytes;
	}
	return NULL;
}

static uint8_t meaning_of(const struct tree_xattr_set *set)
{
	uint8_t meaning = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		const struct tree_xattr *xattr = &set->list[i];
		const char *name = overlay_name(xattr->name);

		if (!name)
			continue;
		/* The value "x" is only a hint: the directory has whiteouts that are xattrs. */
		if (!strcmp(name, "opaque") && xattr->value_bytes == 1 && !memcmp(xattr->value, "y", 1))
			meaning |= MEANS_OPAQUE;
		else if (!strcmp(name, "whiteout"))
			meaning |= MEANS_WHITEOUT;
		else if (!strcmp(name, "redirect"))
			meaning |= MEANS_REDIRECT;
		else if (!strcmp(name, "metacopy"))
			meaning |= MEANS_METACOPY;
	}
	return meaning;
}

static uint8_t meaning_of_node(const struct merge_layer *layer, uint32_t node)
{
	return layer->meanings ? layer->meanings[layer->tree->nodes[node].xattrs] : 0;
}

bool whiteouts_is_whiteout(const struct merge_layer *layer, uint32_t number)
{
	const struct tree_node *node = &layer->tree->nodes[number];

	if (layer->whiteouts != WHITEOUTS_OVERLAYFS)
		return false;
	if (S_ISCHR(node->mode))
		return !node->device.major && !node->device.minor;
	return S_ISREG(node->mode) && !node->size_bytes && (meaning_of_node(layer, number) & MEANS_WHITEOUT);
}

/* A whiteout, or a directory with nothing else in it. */
static bool is_mark(const struct merge_layer *layer, uint32_t number)
{
	const struct tree_node *node = &layer->tree->nodes[number];

	return node->has_only_whiteouts || whiteouts_is_whiteout(layer, number) ||
	       (layer->whiteouts == WHITEOUTS_OCI && !strncmp(node->name, marker_prefix, WHITEOUT_PREFIX_BYTES));
}

/* Marks directories that only whiteouts imply. A directory precedes what is in it. */
static void mark_directories(const struct merge_layer *layer)
{
	struct tree_node *nodes = layer->tree->nodes;

	for (uint32_t number = layer->tree->node_count; --number > TREE_ROOT;) {
		struct tree_node *node = &nodes[number];
		uint32_t child = node->first_child, end = child + node->child_count;

		if (!S_ISDIR(node->mode) || !node->is_implied)
			continue;
		while (child < end && is_mark(layer, child))
			child++;
		if (node->child_count && child == end)
			node->has_only_whiteouts = true;
	}
}

errcode_t whiteouts_read(struct merge_layer *layer)
{
	const struct tree *tree = layer->tree;

	if (layer->whiteouts == WHITEOUTS_OCI)
		mark_directories(layer);
	if (layer->whiteouts != WHITEOUTS_OVERLAYFS)
		return 0;
	layer->meanings = malloc(tree->xattr_set_count);
	if (!layer->meanings)
		return ENOMEM;
	for (uint32_t i = 0; i < tree->xattr_set_count; i++)
		layer->meanings[i] = meaning_of(&tree->xattr_sets[i]);
	mark_directories(layer);
	return 0;
}

struct whiteout_range whiteouts_find(const struct merge_layer *layer, uint32_t directory)
{
	const struct tree_node *node = &layer->tree->nodes[directory];
	uint32_t end = node->first_child + node->child_count;
	struct whiteout_range range = { end, end, end, end };

	if (layer->whiteouts != WHITEOUTS_OCI)
		return range;
	range.start = tree_first_from(layer->tree, node->first_child, end, marker_prefix, strlen(marker_prefix));
	range.end = tree_first_from(layer->tree, range.start, end, after_marker, strlen(after_marker));
	range.own_start = tree_first_from(layer->tree, range.start, range.end, own_marker, strlen(own_marker));
	range.own_end =
		tree_first_from(layer->tree, range.own_start, range.end, after_own_marker, strlen(after_own_marker));
	return range;
}

static bool is_before(const struct merge_layer *layer, uint32_t node, uint32_t before)
{
	return !layer->below.order || layer->below.order[node] < before;
}

bool whiteouts_is_opaque(const struct merge_layer *layer, uint32_t directory, uint32_t before)
{
	struct whiteout_range range = whiteouts_find(layer, directory);
	uint32_t marker =
		tree_find_among(layer->tree, range.own_start, range.own_end, opaque_marker, strlen(opaque_marker));

	if (marker != TREE_ROOT)
		return is_before(layer, marker, before);
	return (meaning_of_node(layer, directory) & MEANS_OPAQUE) && is_before(layer, directory, before);
}

errcode_t whiteouts_check_marker(const struct merge_layer *layer, uint32_t node, struct problem *problem)
{
	const char *name = layer->tree->nodes[node].name + WHITEOUT_PREFIX_BYTES;

	if (*name && strcmp(name, ".") && strcmp(name, ".."))
		return 0;
	SCOPE_FREE char *path = tree_path(layer->tree, node);

	return problem_set_reason(problem, EINVAL, path, "cannot merge", "a whiteout of \"%s\", which is not a name",
	                          name);
}

errcode_t whiteouts_check_file(const struct merge_layer *layer, uint32_t node, struct problem *problem)
{
	uint8_t meaning = meaning_of_node(layer, node) & (MEANS_REDIRECT | MEANS_METACOPY);

	if (!meaning)
		return 0;
	SCOPE_FREE char *path = tree_path(layer->tree, node);

	return problem_set_reason(
		problem, ENOTSUP, path, "cannot merge",
		"the overlayfs xattr \"%s\" has a meaning only where the overlay is mounted: take the "
		"files from there",
		meaning & MEANS_METACOPY ? "metacopy" : "redirect");
}

errcode_t whiteouts_intern_xattrs(const struct merge_layer *layer, uint32_t number, bool is_opaque,
                                  struct xattr_table *table, struct xattr_table_memory *last, uint32_t *ret)
{
	static const struct tree_xattr opaque = { "trusted.overlay.opaque", "y", 1 };
	const struct tree_xattr_set *set = &layer->tree->xattr_sets[number];
	SCOPE_FREE struct tree_xattr *list = malloc((set->count + 1ul) * sizeof(*list));
	uint32_t count = 0;

	if (!list)
		return ENOMEM;
	for (uint32_t i = 0; i < set->count; i++) {
		bool is_dropped = layer->whiteouts == WHITEOUTS_OVERLAYFS && overlay_name(set->list[i].name);
		int order = is_opaque ? strcmp(set->list[i].name, opaque.name) : -1;

		if (order >= 0) {
			list[count++] = opaque;
			is_opaque = false;
		}
		if (!is_dropped && order)
			list[count++] = set->list[i];
	}
	if (is_opaque)
		list[count++] = opaque;
	return xattr_table_intern(table, list, count, last, ret);
}

/*
 * Returns the directory's entry with this name; TREE_ROOT if there is none or it is a whiteout. *hides_below becomes
 * true if this layer hides the layers below under that name, whether or not it has the name itself.
 */
static uint32_t find_name(const struct merge_layer *layer, uint32_t directory, const char *name, uint32_t before,
                          bool *hides_below)
{
	struct whiteout_range range = whiteouts_find(layer, directory);
	char marker[sizeof(marker_prefix) + NAME_MAX];

	if (whiteouts_is_opaque(layer, directory, before))
		*hides_below = true;
	if (layer->whiteouts == WHITEOUTS_OCI) {
		/* snprintf() would cut a longer name, which no entry has. */
		snprintf(marker, sizeof(marker), "%s%s", marker_prefix, name);
		if (!strncmp(name, marker_prefix, WHITEOUT_PREFIX_BYTES))
			return TREE_ROOT;
		uint32_t whiteout = tree_find_among(layer->tree, range.start, range.end, marker, strlen(marker));

		if (whiteout != TREE_ROOT && is_before(layer, whiteout, before))
			*hides_below = true;
	}
	uint32_t node = tree_find(layer->tree, directory, name, strlen(name));

	if (node == TREE_ROOT || !is_before(layer, node, before))
		return TREE_ROOT;
	if (!whiteouts_is_whiteout(layer, node))
		return node;
	*hides_below = true;
	return TREE_ROOT;
}

/* Why a path is not found, or the layers below do not show there. */
struct obstacle {
	bool hides;       /* the layer hides what the layers below have there */
	bool is_no_place; /* since something on the way is not a directory */
};

/*
 * Returns the node at path in one layer, among the members before `before`; TREE_ROOT if there is none. The obstacle
 * says whether the layers below show there.
 */
static uint32_t look_up(const struct merge_layer *layer, char *path, uint32_t before, struct obstacle *obstacle)
{
	uint32_t node = TREE_ROOT;
	char *name;

	while ((name = strsep(&path, "/"))) {
		if (!*name || !strcmp(name, "."))
			continue;
		if (!S_ISDIR(layer->tree->nodes[node].mode)) {
			*obstacle = (struct obstacle){ true, true };
			return TREE_ROOT;
		}
		node = find_name(layer, node, name, before, &obstacle->hides);
		if (node == TREE_ROOT)
			break;
	}
	return layer->tree->nodes[node].has_only_whiteouts ? TREE_ROOT : node;
}

/* A layer on top of those below it. */
struct view {
	const struct merge_layer *layers;
	uint32_t top;
	uint32_t before; /* only members of the top layer before this one are there */
	bool only_hides; /* the top layer hides what is below, but what it has itself is not looked at */
	uint32_t first;  /* the lowest layer that counts */
	const struct lower_files *below;
};

/* Finds what has this path: *layer and *node; TREE_ROOT if nothing has, then *layer is the one with the obstacle. */
static errcode_t find(const struct view *view, const char *path, uint32_t *layer, uint32_t *node,
                      struct obstacle *obstacle)
{
	*node = TREE_ROOT;
	*obstacle = (struct obstacle){ 0 };
	for (*layer = view->top + 1; *node == TREE_ROOT && !obstacle->hides && (*layer)-- > view->first;) {
		SCOPE_FREE char *copy = strdup(path);

		if (!copy)
			return ENOMEM;
		*node = look_up(&view->layers[*layer], copy, *layer == view->top ? view->before : UINT32_MAX, obstacle);
		if (view->only_hides && *layer == view->top)
			*node = TREE_ROOT;
	}
	return 0;
}

static errcode_t look(const void *context, const char *path, uint16_t *mode, char **target)
{
	const struct view *view = context;
	struct obstacle obstacle;
	uint32_t layer, number;
	errcode_t error = find(view, path, &layer, &number, &obstacle);

	*mode = 0;
	*target = NULL;
	if (!error && number == TREE_ROOT && !obstacle.hides && view->below)
		return view->below->look(view->below->context, path, mode, target);
	if (error || number == TREE_ROOT)
		return error;
	const struct tree_node *node = &view->layers[layer].tree->nodes[number];

	*mode = node->mode;
	*target = S_ISLNK(node->mode) ? strdup(node->target) : NULL;
	return S_ISLNK(node->mode) && !*target ? ENOMEM : 0;
}

errcode_t whiteouts_follow_directories(const struct lower_layers *lower, uint32_t top, struct pool *pool,
                                       uint64_t *followed, struct problem *problem)
{
	const struct view view = { lower->layers,      top,          .before = UINT32_MAX,
		                   .only_hides = true, lower->first, lower->below };
	const struct lower_files files = { look, &view, lower->below && lower->below->must_lead };
	struct merge_layer *layer = &lower->layers[top];

	return directory_links_follow(layer->tree, &files, layer->whiteouts != WHITEOUTS_NONE,
	                              layer->below.order ? &layer->below.order : NULL, pool, followed, problem);
}

static errcode_t refuse(const struct merge_layer *top, uint32_t number, errcode_t error, const char *what,
                        const char *who, struct problem *problem)
{
	const struct link_below *link = links_below_find(&top->below, &top->tree->nodes[number]);
	SCOPE_FREE char *path = tree_path(top->tree, number);

	return problem_set_reason(problem, error, path, "cannot make a hard link", "%s: %s%s", link->target, who, what);
}

/* Follows the symbolic links on the way to a target, as link(2) does. All stays as it is if they lead nowhere. */
static errcode_t find_through_links(const struct view *view, const char *target, uint32_t *layer, uint32_t *node,
                                    struct obstacle *obstacle)
{
	const struct lower_files lower = { look, view, false };
	SCOPE_FREE char *path = NULL;
	uint16_t mode;
	errcode_t error = lower_files_resolve(&lower, target, false, &path, &mode);

	return error || !path ? error : find(view, path, layer, node, obstacle);
}

static errcode_t resolve(struct merge_layer *layers, uint32_t top, uint32_t number, const struct lower_files *below,
                         struct problem *problem)
{
	struct link_below *link = links_below_find(&layers[top].below, &layers[top].tree->nodes[number]);
	const struct view view = { layers, top, .before = link->order, .below = below };
	struct obstacle obstacle;
	uint32_t layer, found;
	errcode_t error = find(&view, link->target, &layer, &found, &obstacle);

	if (!error && obstacle.is_no_place)
		error = find_through_links(&view, link->target, &layer, &found, &obstacle);
	if (error)
		return error;
	if (found == TREE_ROOT && obstacle.hides)
		return refuse(&layers[top], number, ENOENT,
		              obstacle.is_no_place ? " has something on the way to it that is not a directory" :
		                                     " hides it",
		              layers[layer].tree->origins[0].path, problem);
	if (found == TREE_ROOT)
		return refuse(&layers[top], number, ENOENT,
		              "nothing in the archive before it or in the sources below has that name", "", problem);
	if (S_ISDIR(layers[layer].tree->nodes[found].mode))
		return refuse(&layers[top], number, EISDIR, error_message(EISDIR), "", problem);
	link->layer = layer;
	link->node = found;
	return 0;
}

/* Returns the link to a lower layer that this name is, or is a further name of; NULL if it is not such a link. */
static const struct link_below *find_link(const struct merge_layer *layer, uint32_t number)
{
	const struct tree_node *nodes = layer->tree->nodes;

	return links_below_find(&layer->below, &nodes[nodes[number].link_to]);
}

void whiteouts_follow_link(const struct merge_layer *layers, uint32_t *layer, uint32_t *node)
{
	const struct link_below *link;

	while ((link = find_link(&layers[*layer], *node))) {
		*layer = link->layer;
		*node = link->node;
	}
}

/* Resolves a layer's links to lower layers. The links of those layers are resolved already. */
static errcode_t resolve_layer(struct merge_layer *layers, uint32_t top, const struct lower_files *below,
                               struct problem *problem)
{
	const struct tree *tree = layers[top].tree;

	for (uint32_t number = 0; number < tree->node_count; number++) {
		uint32_t layer = top, node = number;

		if (tree_node_is_link(tree, number) || !find_link(&layers[top], number))
			continue;
		/* Each link may be looked for in thousands of layers. */
		errcode_t error = interrupt_pending() ? EINTR : resolve(layers, top, number, below, problem);

		if (error)
			return error;
		whiteouts_follow_link(layers, &layer, &node);
		struct tree *holder = layers[layer].tree;
		uint32_t first = holder->nodes[node].link_to;

		error = tree_fix_contents(holder, first);
		if (error)
			return error;
		holder->nodes[first].links += tree->nodes[number].links;
	}
	return 0;
}

errcode_t whiteouts_resolve_links(struct merge_layer *layers, uint32_t count, const struct lower_files *below,
                                  struct problem *problem)
{
	for (uint32_t layer = 1; layer < count; layer++) {
		errcode_t error = resolve_layer(layers, layer, below, problem);

		if (error)
			return error;
	}
	return 0;
}
