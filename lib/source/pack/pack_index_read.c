/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/pack/pack_index.h"

#include <endian.h>
#include <errno.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>

#include "source/kind/stored_contents.h"
#include "source/pack/pack_places.h"
#include "tree/details.h"
#include "tree/xattr_table.h"

#define NANOSECONDS 1000000000u

struct reading {
	const struct pack_lists *lists;
	struct tree *tree;
	struct links_below *below;
	uint64_t contents_bytes;
	uint32_t next;  /* the node that the next directory's children begin at */
	uint64_t place; /* where the next file's contents begin */
	/* How much of each list has been used. */
	uint32_t map, segment, link;
	const char *reason;
};

static errcode_t damaged(struct reading *reading, const char *reason)
{
	reading->reason = reason;
	return EBADMSG;
}

/* Returns `bytes` bytes of the strings, which a NUL follows; NULL: they are not there. */
static const char *string_at(const struct reading *reading, uint64_t at, uint64_t bytes)
{
	uint64_t end = reading->lists->counts.string_bytes;

	if (at >= end || bytes >= end - at || reading->lists->strings[at + bytes])
		return NULL;
	return reading->lists->strings + at;
}

/* The same for a text, which has no NUL in it. */
static const char *text_at(const struct reading *reading, uint64_t at, uint64_t bytes)
{
	const char *text = string_at(reading, at, bytes);

	return text && !memchr(text, '\0', bytes) ? text : NULL;
}

/* For a text of unknown length. */
static const char *whole_text_at(const struct reading *reading, uint64_t at)
{
	uint64_t end = reading->lists->counts.string_bytes;

	if (at >= end || !memchr(reading->lists->strings + at, '\0', end - at))
		return NULL;
	return reading->lists->strings + at;
}

static bool is_name(const char *name, size_t bytes)
{
	return bytes && !memchr(name, '/', bytes) && strcmp(name, ".") && strcmp(name, "..");
}

static errcode_t read_name(struct reading *reading, uint32_t number)
{
	const struct pack_node *stored = &reading->lists->nodes[number];
	struct tree_node *node = &reading->tree->nodes[number];

	node->name = text_at(reading, le32toh(stored->name), stored->name_bytes);
	node->name_bytes = stored->name_bytes;
	if (!node->name)
		return damaged(reading, "a name is not among its strings");
	if (number == TREE_ROOT ? node->name_bytes : !is_name(node->name, node->name_bytes))
		return damaged(reading, "a name is none");
	return 0;
}

static errcode_t read_map(struct reading *reading, struct tree_node *node)
{
	const struct pack_lists *lists = reading->lists;
	uint32_t count = reading->map < lists->counts.maps ? le32toh(lists->map_counts[reading->map]) : UINT32_MAX;
	uint64_t end = 0;

	if (count > lists->counts.segments - reading->segment)
		return damaged(reading, "a map is missing");
	reading->map++;
	struct tree_data_map *map = arena_alloc(&reading->tree->memory, sizeof(*map) + count * sizeof(*map->segments));

	if (!map)
		return ENOMEM;
	map->count = count;
	for (uint32_t i = 0; i < count; i++) {
		const struct pack_segment *stored = &lists->segments[reading->segment++];
		const struct tree_segment segment = { le64toh(stored->start_bytes), le64toh(stored->length_bytes) };

		if ((i && segment.start_bytes <= end) || !segment.length_bytes ||
		    segment.start_bytes > node->size_bytes ||
		    segment.length_bytes > node->size_bytes - segment.start_bytes)
			return damaged(reading, "a map is out of order");
		map->segments[i] = segment;
		end = segment.start_bytes + segment.length_bytes;
	}
	node->is_sparse = true;
	node->data_map = map;
	return 0;
}

/* The place of contents follows from the files before. */
static errcode_t place_contents(struct reading *reading, struct tree_node *node)
{
	struct tree_data_map *map = node->is_sparse ? node->data_map : NULL;
	uint64_t *starts = map ? arena_alloc(&reading->tree->memory, map->count * sizeof(*starts) + 1) : NULL;
	uint64_t begin = reading->place;

	if (map && !starts)
		return ENOMEM;
	if (pack_places_add(node->size_bytes, map, &reading->place, starts) || reading->place > reading->contents_bytes)
		return damaged(reading, "it has fewer contents than its files");
	if (!map) {
		node->contents = PACK_BLOCK_BYTES + begin;
		return 0;
	}
	for (uint32_t i = 0; i < map->count; i++)
		starts[i] += PACK_BLOCK_BYTES;
	return stored_contents_add_pieces(stored_contents_of(reading->tree, 0), map, starts, &map->contents);
}

static errcode_t read_regular(struct reading *reading, const struct pack_node *stored, struct tree_node *node)
{
	errcode_t error = 0;

	node->size_bytes = le64toh(stored->size_bytes);
	if (node->size_bytes > INT64_MAX)
		return damaged(reading, "a file is too large");
	if (stored->marks & PACK_NODE_SPARSE)
		error = read_map(reading, node);
	return error ? error : place_contents(reading, node);
}

static errcode_t read_symlink(struct reading *reading, const struct pack_node *stored, struct tree_node *node)
{
	node->size_bytes = le64toh(stored->size_bytes);
	node->target = text_at(reading, le64toh(stored->value), node->size_bytes);
	return node->target && node->size_bytes && node->size_bytes < PATH_MAX ?
	               0 :
	               damaged(reading, "a symbolic link has no target");
}

static errcode_t read_type(struct reading *reading, const struct pack_node *stored, struct tree_node *node)
{
	uint64_t value = le64toh(stored->value);

	switch (node->mode & S_IFMT) {
	case S_IFREG:
		return read_regular(reading, stored, node);
	case S_IFLNK:
		return read_symlink(reading, stored, node);
	case S_IFCHR:
	case S_IFBLK:
		node->device.major = (uint32_t)(value >> 32);
		node->device.minor = (uint32_t)value;
		if (node->device.major >= 1u << 12 || node->device.minor >= 1u << 20)
			return damaged(reading, "a device has no such number");
		return 0;
	case S_IFDIR:
	case S_IFIFO:
	case S_IFSOCK:
		return 0;
	default:
		return damaged(reading, "a file has no known type");
	}
}

static errcode_t read_attributes(struct reading *reading, const struct pack_node *stored, struct tree_node *node)
{
	const struct pack_counts *counts = &reading->lists->counts;

	node->mode = le16toh(stored->mode);
	node->uid = le32toh(stored->uid);
	node->gid = le32toh(stored->gid);
	node->mtime_seconds = (int64_t)le64toh(stored->mtime_seconds);
	node->mtime_nanoseconds = le32toh(stored->mtime_nanoseconds);
	node->flags = le32toh(stored->flags);
	node->xattrs = le32toh(stored->xattrs);
	node->detail = le32toh(stored->detail);
	node->is_implied = stored->marks & PACK_NODE_IMPLIED;
	node->has_flags = stored->marks & PACK_NODE_FLAGS;
	node->has_lost_acl = stored->marks & PACK_NODE_LOST_ACL;
	node->has_lost_xattr = stored->marks & PACK_NODE_LOST_XATTR;
	if (node->uid == UINT32_MAX || node->gid == UINT32_MAX || node->mtime_nanoseconds >= NANOSECONDS ||
	    (node->is_implied && !S_ISDIR(node->mode)) || node->xattrs > counts->xattr_sets ||
	    node->detail > counts->details)
		return damaged(reading, "a file has attributes that no file can have");
	return read_type(reading, stored, node);
}

static errcode_t read_link_below(struct reading *reading, struct tree_node *node)
{
	const struct pack_lists *lists = reading->lists;
	const struct pack_link *link = &lists->links[reading->link];
	const struct tree_node named = *node;

	if (reading->link == lists->counts.links_below)
		return damaged(reading, "a link to a layer below is missing");
	reading->link++;
	const char *target = whole_text_at(reading, le32toh(link->target));

	if (!target)
		return damaged(reading, "a link's target is not among its strings");
	errcode_t error = links_below_add(reading->below, reading->tree, reading->tree->origins[0].path, target,
	                                  le32toh(link->order), node);

	if (error)
		return error;
	node->name = named.name;
	node->name_bytes = named.name_bytes;
	node->parent = named.parent;
	return 0;
}

/* A further name of a file has all that its first one has. */
static errcode_t read_further_name(struct reading *reading, struct tree_node *node, uint32_t first)
{
	struct tree_node *nodes = reading->tree->nodes;
	const struct tree_node named = *node;

	if (nodes[first].link_to != first || S_ISDIR(nodes[first].mode))
		return damaged(reading, "a hard link leads to what is no file");
	nodes[first].links++;
	*node = nodes[first];
	node->name = named.name;
	node->name_bytes = named.name_bytes;
	node->parent = named.parent;
	node->links = 0;
	return 0;
}

/* Reads a node whose parent is known. The children of directories follow later. */
static errcode_t read_node(struct reading *reading, uint32_t number, uint32_t parent)
{
	const struct pack_node *stored = &reading->lists->nodes[number];
	struct tree_node *node = &reading->tree->nodes[number];
	uint32_t relation = le32toh(stored->relation);
	bool is_directory = (le16toh(stored->mode) & S_IFMT) == S_IFDIR;
	errcode_t error = read_name(reading, number);

	node->parent = parent;
	if (error)
		return error;
	if (!is_directory && relation < number)
		return read_further_name(reading, node, relation);
	if (!is_directory && relation > number)
		return damaged(reading, "a hard link leads to a later name");
	if (is_directory && stored->marks & PACK_NODE_BELOW)
		return damaged(reading, "a directory is a hard link");
	error = stored->marks & PACK_NODE_BELOW ? read_link_below(reading, node) :
	                                          read_attributes(reading, stored, node);
	node->link_to = number;
	node->links = is_directory ? 2 : 1;
	node->child_count = is_directory ? relation : 0;
	return error;
}

static errcode_t read_children(struct reading *reading, uint32_t directory)
{
	struct tree_node *nodes = reading->tree->nodes;
	uint32_t count = nodes[directory].child_count, first = reading->next;

	if (count > reading->tree->node_count - first)
		return damaged(reading, "a directory has more names than there are");
	nodes[directory].first_child = count ? first : 0;
	for (uint32_t number = first; number < first + count; number++) {
		errcode_t error = read_node(reading, number, directory);

		if (error)
			return error;
		if (number > first && tree_name_compare(nodes[number - 1].name, nodes[number - 1].name_bytes,
		                                        nodes[number].name, nodes[number].name_bytes) >= 0)
			return damaged(reading, "names are out of order");
		nodes[directory].links += S_ISDIR(nodes[number].mode);
	}
	reading->next = first + count;
	return 0;
}

/*
 * Returns the directory whose children come next: the first one in this directory, or else the next one of what
 * contains it, upwards; TREE_ROOT: there is none. Each node is looked at once.
 */
static uint32_t next_directory(const struct tree *tree, uint32_t directory)
{
	const struct tree_node *nodes = tree->nodes;
	uint32_t number = nodes[directory].first_child;
	uint32_t end = number + nodes[directory].child_count;

	for (;;) {
		for (; number < end; number++)
			if (S_ISDIR(nodes[number].mode))
				return number;
		if (directory == TREE_ROOT)
			return TREE_ROOT;
		number = directory + 1;
		directory = nodes[directory].parent;
		end = nodes[directory].first_child + nodes[directory].child_count;
	}
}

static errcode_t read_nodes(struct reading *reading)
{
	struct tree *tree = reading->tree;
	uint32_t directory = TREE_ROOT;

	tree->node_count = reading->lists->counts.nodes;
	tree->nodes = calloc(tree->node_count, sizeof(*tree->nodes));
	if (!tree->nodes)
		return ENOMEM;
	reading->next = 1;
	errcode_t error = read_node(reading, TREE_ROOT, TREE_ROOT);

	if (!error && !S_ISDIR(tree->nodes[TREE_ROOT].mode))
		error = damaged(reading, "its root is no directory");
	while (!error) {
		error = read_children(reading, directory);
		directory = error ? TREE_ROOT : next_directory(tree, directory);
		if (directory == TREE_ROOT)
			break;
	}
	if (!error && reading->next != tree->node_count)
		error = damaged(reading, "names belong to no directory");
	return error;
}

static errcode_t read_set(struct reading *reading, struct tree_xattr_set *set, uint32_t count, uint32_t first)
{
	struct tree_xattr *list = arena_alloc(&reading->tree->memory, count * sizeof(*list) + 1);

	if (!list)
		return ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct pack_xattr *stored = &reading->lists->xattrs[first + i];

		list[i].name = whole_text_at(reading, le32toh(stored->name));
		list[i].value_bytes = le32toh(stored->value_bytes);
		list[i].value = string_at(reading, le32toh(stored->value), list[i].value_bytes);
		if (!list[i].name || !list[i].value || strlen(list[i].name) > XATTR_NAME_MAX ||
		    !tree_xattr_is_kept(list[i].name) || list[i].value_bytes > XATTR_SIZE_MAX ||
		    (i && strcmp(list[i - 1].name, list[i].name) >= 0))
			return damaged(reading, "an extended attribute is none");
	}
	*set = (struct tree_xattr_set){ .count = count, .hash = xattr_list_hash(list, count), .list = list };
	return 0;
}

static int compare_sets(const void *one, const void *other)
{
	const struct tree_xattr_set *first = one, *second = other;
	int order = (first->hash > second->hash) - (first->hash < second->hash);

	if (!order)
		order = (first->count > second->count) - (first->count < second->count);
	for (uint32_t i = 0; !order && i < first->count; i++) {
		const struct tree_xattr *left = &first->list[i], *right = &second->list[i];

		order = strcmp(left->name, right->name);
		if (!order)
			order = (left->value_bytes > right->value_bytes) - (left->value_bytes < right->value_bytes);
		if (!order)
			order = memcmp(left->value, right->value, left->value_bytes);
	}
	return order;
}

/* Equal sets are stored once in a tree. */
static errcode_t check_sets(struct reading *reading)
{
	const struct tree *tree = reading->tree;
	size_t bytes = tree->xattr_set_count * sizeof(*tree->xattr_sets);
	SCOPE_FREE struct tree_xattr_set *sorted = malloc(bytes);

	if (!sorted)
		return ENOMEM;
	memcpy(sorted, tree->xattr_sets, bytes);
	qsort(sorted, tree->xattr_set_count, sizeof(*sorted), compare_sets);
	for (uint32_t i = 1; i < tree->xattr_set_count; i++)
		if (!compare_sets(&sorted[i - 1], &sorted[i]))
			return damaged(reading, "two sets of extended attributes are equal");
	return 0;
}

static errcode_t read_sets(struct reading *reading)
{
	const struct pack_lists *lists = reading->lists;
	struct tree *tree = reading->tree;
	uint32_t first = 0;

	tree->xattr_sets = calloc(lists->counts.xattr_sets + 1ul, sizeof(*tree->xattr_sets));
	if (!tree->xattr_sets)
		return ENOMEM;
	tree->xattr_set_count = 1;
	for (uint32_t i = 0; i < lists->counts.xattr_sets; i++) {
		uint32_t count = le32toh(lists->set_counts[i]);

		if (!count || count > lists->counts.xattrs - first)
			return damaged(reading, "a set of extended attributes is missing");
		errcode_t error = read_set(reading, &tree->xattr_sets[tree->xattr_set_count++], count, first);

		if (error)
			return error;
		first += count;
	}
	return check_sets(reading);
}

static struct tree_time read_time(const struct pack_detail *stored, unsigned int number)
{
	if (!(le32toh(stored->known) & 1u << number))
		return (struct tree_time){ 0 };
	return (struct tree_time){ (int64_t)le64toh(stored->seconds[number]), le32toh(stored->nanoseconds[number]),
		                   true };
}

static errcode_t read_details(struct reading *reading)
{
	const struct pack_lists *lists = reading->lists;
	struct tree *tree = reading->tree;

	if (!lists->counts.details)
		return 0;
	tree->detail_capacity = lists->counts.details + 1ul;
	tree->details = calloc(tree->detail_capacity, sizeof(*tree->details));
	if (!tree->details)
		return ENOMEM;
	tree->detail_count = tree->detail_capacity;
	for (uint32_t i = 0; i < lists->counts.details; i++) {
		const struct pack_detail *stored = &lists->details[i];
		const struct tree_detail detail = { .atime = read_time(stored, 0),
			                            .ctime = read_time(stored, 1),
			                            .crtime = read_time(stored, 2) };

		if (detail.atime.nanoseconds >= NANOSECONDS || detail.ctime.nanoseconds >= NANOSECONDS ||
		    detail.crtime.nanoseconds >= NANOSECONDS)
			return damaged(reading, "a time is none");
		tree->details[i + 1] = detail;
	}
	return 0;
}

static errcode_t read_order(const struct reading *reading)
{
	const struct pack_lists *lists = reading->lists;

	if (!(lists->counts.marks & PACK_HAS_ORDER))
		return 0;
	reading->below->order = malloc(lists->counts.nodes * sizeof(*reading->below->order));
	if (!reading->below->order)
		return ENOMEM;
	for (uint32_t i = 0; i < lists->counts.nodes; i++)
		reading->below->order[i] = le32toh(lists->order[i]);
	return 0;
}

static void set_zeros(const struct reading *reading)
{
	const struct pack_counts *counts = &reading->lists->counts;
	struct tree_origin *origin = &reading->tree->origins[0];

	origin->knows_zeros = counts->marks & PACK_KNOWS_ZEROS;
	origin->zero_pieces = counts->zero_pieces;
	origin->zero_ends = counts->zero_ends;
}

errcode_t pack_index_read(void *index, uint64_t index_bytes, uint64_t contents_bytes, struct tree *tree,
                          struct links_below *below, struct pack_lists *lists, const char **reason)
{
	struct reading reading = { .lists = lists, .tree = tree, .below = below, .contents_bytes = contents_bytes };
	errcode_t error = pack_index_lists(index, index_bytes, contents_bytes, lists) ?
	                          0 :
	                          damaged(&reading, "its index has another length than its lists");

	if (!error)
		error = read_sets(&reading);
	if (!error)
		error = read_details(&reading);
	if (!error)
		error = read_nodes(&reading);
	if (!error && reading.place != contents_bytes)
		error = damaged(&reading, "it has more contents than its files");
	if (!error)
		error = read_order(&reading);
	if (!error)
		set_zeros(&reading);
	*reason = reading.reason;
	return error;
}
