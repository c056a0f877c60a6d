// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/layers/whiteouts.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static const char marker_prefix[] = ".wh.";
static const char own_marker[] = ".wh..wh.";
static const char opaque_marker[] = ".wh..wh..opq";
/* No name has a slash, which follows the dot: the first name that no longer begins with the marker. */
static const char after_marker[] = ".wh/";
static const char after_own_marker[] = ".wh..wh/";

/* What an xattr set means to overlayfs. */
#define MEANS_OPAQUE 1u
#define MEANS_WHITEOUT 2u
#define MEANS_REDIRECT 4u
#define MEANS_METACOPY 8u

/* The name after "trusted.overlay." or "user.overlay.", NULL for other xattrs. */
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
		/* "x" is for directories with whiteouts that are xattrs: no more than a hint. */
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

errcode_t whiteouts_read(struct whiteouts *whiteouts, struct tree *tree, enum whiteout_form form)
{
	*whiteouts = (struct whiteouts){ .tree = tree, .form = form };
	if (form != WHITEOUTS_OVERLAYFS)
		return 0;
	whiteouts->meanings = malloc(tree->xattr_set_count);
	if (!whiteouts->meanings)
		return ENOMEM;
	for (uint32_t i = 0; i < tree->xattr_set_count; i++)
		whiteouts->meanings[i] = meaning_of(&tree->xattr_sets[i]);
	return 0;
}

void whiteouts_free(struct whiteouts *whiteouts)
{
	free(whiteouts->meanings);
	whiteouts->meanings = NULL;
}

static uint8_t meaning_of_node(const struct whiteouts *whiteouts, uint32_t node)
{
	return whiteouts->meanings ? whiteouts->meanings[whiteouts->tree->nodes[node].xattrs] : 0;
}

struct whiteout_range whiteouts_find(const struct whiteouts *whiteouts, uint32_t directory)
{
	const struct tree_node *node = &whiteouts->tree->nodes[directory];
	uint32_t end = node->first_child + node->child_count;
	struct whiteout_range range = { end, end, end, end };

	if (whiteouts->form != WHITEOUTS_OCI)
		return range;
	range.start = tree_first_from(whiteouts->tree, node->first_child, end, marker_prefix, strlen(marker_prefix));
	range.end = tree_first_from(whiteouts->tree, range.start, end, after_marker, strlen(after_marker));
	range.own_start = tree_first_from(whiteouts->tree, range.start, range.end, own_marker, strlen(own_marker));
	range.own_end = tree_first_from(whiteouts->tree, range.own_start, range.end, after_own_marker,
	                                strlen(after_own_marker));
	return range;
}

bool whiteouts_is_whiteout(const struct whiteouts *whiteouts, uint32_t number)
{
	const struct tree_node *node = &whiteouts->tree->nodes[number];

	if (whiteouts->form != WHITEOUTS_OVERLAYFS)
		return false;
	if (S_ISCHR(node->mode))
		return !node->device.major && !node->device.minor;
	return S_ISREG(node->mode) && !node->size_bytes && (meaning_of_node(whiteouts, number) & MEANS_WHITEOUT);
}

static bool is_before(const struct whiteouts *whiteouts, uint32_t node, uint32_t before)
{
	return whiteouts->tree->nodes[node].order < before;
}

static bool is_opaque_before(const struct whiteouts *whiteouts, uint32_t directory, uint32_t before)
{
	struct whiteout_range range = whiteouts_find(whiteouts, directory);
	uint32_t marker = tree_find_among(whiteouts->tree, range.own_start, range.own_end, opaque_marker,
	                                  strlen(opaque_marker));

	if (marker != TREE_ROOT)
		return is_before(whiteouts, marker, before);
	return (meaning_of_node(whiteouts, directory) & MEANS_OPAQUE) && is_before(whiteouts, directory, before);
}

bool whiteouts_is_opaque(const struct whiteouts *whiteouts, uint32_t directory)
{
	return is_opaque_before(whiteouts, directory, UINT32_MAX);
}

uint32_t whiteouts_look_up(const struct whiteouts *whiteouts, uint32_t directory, const char *name, uint32_t before,
                       bool *hides_below)
{
	struct whiteout_range range = whiteouts_find(whiteouts, directory);
	char marker[sizeof(marker_prefix) + NAME_MAX];

	if (is_opaque_before(whiteouts, directory, before))
		*hides_below = true;
	if (whiteouts->form == WHITEOUTS_OCI) {
		/* A longer name, which nothing has, would be cut. */
		snprintf(marker, sizeof(marker), "%s%s", marker_prefix, name);
		if (!strncmp(name, marker_prefix, WHITEOUT_PREFIX_BYTES))
			return TREE_ROOT;
		uint32_t whiteout = tree_find_among(whiteouts->tree, range.start, range.end, marker, strlen(marker));

		if (whiteout != TREE_ROOT && is_before(whiteouts, whiteout, before))
			*hides_below = true;
	}
	uint32_t node = tree_find(whiteouts->tree, directory, name, strlen(name));

	if (node == TREE_ROOT || !is_before(whiteouts, node, before))
		return TREE_ROOT;
	if (!whiteouts_is_whiteout(whiteouts, node))
		return node;
	*hides_below = true;
	return TREE_ROOT;
}

errcode_t whiteouts_check_marker(const struct whiteouts *whiteouts, uint32_t node, struct problem *problem)
{
	const char *name = whiteouts->tree->nodes[node].name + WHITEOUT_PREFIX_BYTES;

	if (*name && strcmp(name, ".") && strcmp(name, ".."))
		return 0;
	SCOPE_FREE char *path = tree_path(whiteouts->tree, node);

	return problem_set_reason(problem, EINVAL, path, "cannot merge", "a whiteout of \"%s\", which is not a name",
	                          name);
}

errcode_t whiteouts_check_file(const struct whiteouts *whiteouts, uint32_t node, struct problem *problem)
{
	uint8_t meaning = meaning_of_node(whiteouts, node) & (MEANS_REDIRECT | MEANS_METACOPY);

	if (!meaning)
		return 0;
	SCOPE_FREE char *path = tree_path(whiteouts->tree, node);

	return problem_set_reason(
		problem, ENOTSUP, path, "cannot merge",
		"the overlayfs xattr \"%s\" has a meaning only where the overlay is mounted: take the "
		"files from there",
		meaning & MEANS_METACOPY ? "metacopy" : "redirect");
}

errcode_t whiteouts_intern_xattrs(const struct whiteouts *whiteouts, uint32_t number, bool is_opaque,
                                  struct xattr_table *table, struct xattr_table_memory *last, uint32_t *ret)
{
	static const struct tree_xattr opaque = { "trusted.overlay.opaque", "y", 1 };
	const struct tree_xattr_set *set = &whiteouts->tree->xattr_sets[number];
	SCOPE_FREE struct tree_xattr *list = malloc((set->count + 1ul) * sizeof(*list));
	uint32_t count = 0;

	if (!list)
		return ENOMEM;
	for (uint32_t i = 0; i < set->count; i++) {
		bool is_dropped = whiteouts->form == WHITEOUTS_OVERLAYFS && overlay_name(set->list[i].name);
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
