/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/tree_builder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "tree/entry_numbers.h"
#include "tree/name_table.h"
#include "support/vector.h"

/* A table of 256 KiB: a processor does not have all of it at hand while it does other work in between. */
#define FEWEST_DISTANT_SLOTS 32768u

struct tree_builder {
	struct tree *tree;
	const struct exclude *exclude; /* NULL: none */
	struct tree_node *entries;     /* see tree/entry_numbers.h; [0] is the root */
	size_t count, capacity;
	struct name_table *tables; /* one for each directory; [0] is for all directories that have no names in them */
	size_t table_count, table_capacity;
	uint64_t hash_key;
	char *last_directory; /* as the caller gave it, with its slash; not terminated */
	size_t last_directory_bytes, last_directory_capacity;
	uint32_t last_directory_number;
	bool root_has_time;
	bool has_dropped_names;
	struct source_counts *counts; /* NULL: nothing is counted */
	const char *reason;
	char path_reason[100]; /* room for one */
};

static errcode_t refuse(struct tree_builder *builder, errcode_t error, const char *reason)
{
	builder->reason = reason;
	return error;
}

errcode_t tree_builder_create(struct tree *tree, const struct exclude *exclude, struct source_counts *counts,
                              struct tree_builder **ret)
{
	struct tree_builder *builder = calloc(1, sizeof(*builder));

	*ret = NULL;
	if (!builder)
		return ENOMEM;
	builder->tree = tree;
	builder->exclude = exclude;
	builder->counts = counts;
	errcode_t error = vector_reserve(&builder->entries, &builder->capacity, 1, sizeof(*builder->entries));

	if (!error)
		error = vector_reserve(&builder->tables, &builder->table_capacity, 1, sizeof(*builder->tables));
	if (error) {
		tree_builder_destroy(builder);
		return ENOMEM;
	}
	/* Without the key, an attacker could choose names that all meet in one slot. */
	if (getrandom(&builder->hash_key, sizeof(builder->hash_key), GRND_NONBLOCK) < 0)
		builder->hash_key = (uintptr_t)builder;
	builder->entries[TREE_ROOT] = (struct tree_node){ .name = "", .mode = S_IFDIR | 0755, .is_implied = true };
	builder->tables[0] = (struct name_table){ 0 };
	builder->count = builder->table_count = 1;
	*ret = builder;
	return 0;
}

static void free_tables(struct tree_builder *builder)
{
	for (size_t i = 0; i < builder->table_count; i++)
		free(builder->tables[i].slots);
	builder->table_count = 0;
	free(TAKE(builder->tables));
}

void tree_builder_destroy(struct tree_builder *builder)
{
	if (!builder)
		return;
	free(builder->entries);
	free_tables(builder);
	free(builder->last_directory);
	free(builder);
}

const char *tree_builder_reason(const struct tree_builder *builder)
{
	return builder->reason;
}

bool tree_builder_has_dropped_names(const struct tree_builder *builder)
{
	return builder->has_dropped_names;
}

/* A path's last component and the directory that contains it; bytes 0: the root itself. */
struct spot {
	uint32_t parent;
	uint32_t hash;
	const char *name;
	size_t bytes;
	uint32_t entry; /* the entry that has this name now; 0: none, or the root itself */
};

static struct name_table *names_in(const struct tree_builder *builder, uint32_t directory)
{
	return &builder->tables[builder->entries[directory].first_child];
}

static void find_spot(const struct tree_builder *builder, struct spot *spot)
{
	spot->hash = name_hash(builder->hash_key, spot->name, spot->bytes);
	spot->entry =
		name_table_find(names_in(builder, spot->parent), builder->entries, spot->hash, spot->name, spot->bytes);
}

/* A table is made only when a directory gets its first name: of ten million entries, most may be directories. */
static errcode_t make_table(struct tree_builder *builder, uint32_t directory)
{
	if (builder->entries[directory].first_child)
		return 0;
	errcode_t error = source_counts_metadata(builder->counts, sizeof(*builder->tables));

	if (!error)
		error = vector_reserve(&builder->tables, &builder->table_capacity, builder->table_count + 1,
		                       sizeof(*builder->tables));

	if (error)
		return error;
	builder->tables[builder->table_count] = (struct name_table){ 0 };
	builder->entries[directory].first_child = (uint32_t)builder->table_count++;
	return 0;
}

/* Gives a new entry the name at spot, even if another entry has it. Entries may move. */
static errcode_t copy_name(struct tree_builder *builder, const struct spot *spot, uint32_t *number)
{
	if (builder->count >= UINT32_MAX)
		return refuse(builder, EOVERFLOW, "there are more than 2^32 files");
	errcode_t error = source_counts_name(builder->counts, sizeof(struct tree_node) + sizeof(struct name_slot) +
	                                                              (spot->entry ? 0 : spot->bytes + 1));

	if (!error)
		error = vector_reserve(&builder->entries, &builder->capacity, builder->count + 1,
		                       sizeof(*builder->entries));
	*number = (uint32_t)builder->count;
	if (!error)
		error = make_table(builder, spot->parent);
	if (!error)
		error = name_table_put(names_in(builder, spot->parent), spot->hash, spot->entry, *number);
	if (error)
		return error;
	struct tree_node *entry = &builder->entries[*number];

	*entry = (struct tree_node){ 0 };
	if (spot->entry) {
		entry->name = builder->entries[spot->entry].name;
		builder->entries[spot->entry].child_count |= ENTRY_REPLACED;
		builder->has_dropped_names = builder->entries[spot->entry].first_child != 0;
		builder->last_directory_bytes = 0;
	} else {
		entry->name = arena_copy_string(&builder->tree->memory, spot->name, spot->bytes);
		if (!entry->name)
			return ENOMEM;
	}
	entry->name_bytes = (uint8_t)spot->bytes;
	entry->parent = spot->parent;
	entry->link_to = *number;
	builder->count++;
	return 0;
}

static errcode_t make_missing(struct tree_builder *builder, const struct spot *spot, const struct tree_node *needed_by,
                              uint32_t *number)
{
	errcode_t error = copy_name(builder, spot, number);

	if (error)
		return error;
	struct tree_node *entry = &builder->entries[*number];

	entry->mode = S_IFDIR | 0755;
	entry->is_implied = true;
	entry->mtime_seconds = needed_by->mtime_seconds;
	entry->mtime_nanoseconds = needed_by->mtime_nanoseconds;
	entry->origin = needed_by->origin;
	return 0;
}

/* Enters the directory at spot. Makes it if needed_by is not NULL. */
static errcode_t enter(struct tree_builder *builder, struct spot *spot, const struct tree_node *needed_by)
{
	find_spot(builder, spot);
	uint32_t number = spot->entry;

	if (!number && !needed_by)
		return refuse(builder, ENOENT, NULL);
	errcode_t error = number ? 0 : make_missing(builder, spot, needed_by, &number);

	if (error)
		return error;
	uint16_t type = builder->entries[number].mode & S_IFMT;

	if (type != S_IFDIR)
		return refuse(builder, ENOTDIR,
		              type == S_IFLNK ? "a directory on the way to it is a symbolic link" :
		                                "a directory on the way to it is a file");
	spot->parent = number;
	return 0;
}

/*
 * Remembers the directory, since its members usually follow each other. Then the builder need not look up their path
 * again.
 */
static errcode_t remember_directory(struct tree_builder *builder, const char *path, size_t bytes, uint32_t number)
{
	errcode_t error = vector_reserve(&builder->last_directory, &builder->last_directory_capacity, bytes, 1);

	if (error)
		return error;
	memcpy(builder->last_directory, path, bytes);
	builder->last_directory_bytes = bytes;
	builder->last_directory_number = number;
	return 0;
}

static bool is_in_last_directory(const struct tree_builder *builder, const char *path)
{
	if (!builder->last_directory_bytes ||
	    strncmp(path, builder->last_directory, builder->last_directory_bytes) != 0)
		return false;
	const char *name = path + builder->last_directory_bytes;

	return *name && strcmp(name, ".") && !strchr(name, '/');
}

void tree_builder_expect(const struct tree_builder *builder, const char *path)
{
	if (!is_in_last_directory(builder, path))
		return;
	const struct name_table *names = names_in(builder, builder->last_directory_number);
	const char *name = path + builder->last_directory_bytes;

	if (names->slot_count >= FEWEST_DISTANT_SLOTS)
		name_table_expect(names, name_hash(builder->hash_key, name, strlen(name)));
}

/* Limits a path's length: a path of 30 000 bytes would make 15 000 directories. */
static errcode_t check_path(struct tree_builder *builder, const char *path)
{
	uint64_t most = builder->counts ? builder->counts->limits.path_bytes : 0;
	uint64_t bytes = builder->counts ? strlen(path) : 0;

	source_counts_path(builder->counts, bytes);
	if (!most || bytes <= most)
		return 0;
	snprintf(builder->path_reason, sizeof(builder->path_reason),
	         "its path has more than %" PRIu64 " bytes (--limit=path=N allows more)", most);
	return refuse(builder, ENAMETOOLONG, builder->path_reason);
}

static errcode_t find_path(struct tree_builder *builder, const char *path, const struct tree_node *needed_by,
                           struct spot *spot)
{
	const char *next = path, *last = NULL;
	errcode_t error = check_path(builder, path);

	*spot = (struct spot){ .parent = TREE_ROOT };
	if (error)
		return error;
	if (is_in_last_directory(builder, path)) {
		next = path + builder->last_directory_bytes;
		spot->parent = builder->last_directory_number;
	}
	while (*next) {
		size_t bytes = strcspn(next, "/");

		if (bytes > UINT8_MAX)
			return refuse(builder, ENAMETOOLONG, "a name has more than 255 bytes");
		if (bytes == 2 && !memcmp(next, "..", 2))
			return refuse(builder, EINVAL, "it would leave the tree through \"..\"");
		if (bytes && !(bytes == 1 && *next == '.')) {
			if (last)
				error = enter(builder, spot, needed_by);
			if (error)
				return error;
			last = spot->name = next;
			spot->bytes = bytes;
		}
		next += bytes + (next[bytes] == '/');
	}
	if (!last)
		return 0;
	find_spot(builder, spot);
	return last > path && !last[spot->bytes] ?
	               remember_directory(builder, path, (size_t)(last - path), spot->parent) :
	               0;
}

static void set_attributes(struct tree_node *entry, const struct tree_node *node, uint32_t number)
{
	struct tree_node old = *entry;

	*entry = *node;
	entry->name = old.name;
	entry->name_bytes = old.name_bytes;
	entry->parent = old.parent;
	entry->first_child = old.first_child;
	entry->child_count = 0;
	entry->links = 0;
	entry->link_to = number;
}

errcode_t tree_builder_add(struct tree_builder *builder, const char *path, const struct tree_node *node)
{
	struct tree_node *root = &builder->entries[TREE_ROOT];
	struct spot spot;

	builder->reason = NULL;
	builder->has_dropped_names = false;
	if (!builder->root_has_time) {
		root->mtime_seconds = node->mtime_seconds;
		root->mtime_nanoseconds = node->mtime_nanoseconds;
		builder->root_has_time = true;
	}
	if (!*path)
		return refuse(builder, EINVAL, "it has no name");
	errcode_t error = find_path(builder, path, node, &spot);

	if (error)
		return error;
	if (!spot.bytes && !S_ISDIR(node->mode))
		return refuse(builder, EINVAL, "the root must be a directory");
	uint32_t number = spot.entry;
	const struct tree_node *old = &builder->entries[number];
	bool stays = number ? S_ISDIR(old->mode) == S_ISDIR(node->mode) && !old->links : !spot.bytes;

	if (!stays)
		error = copy_name(builder, &spot, &number);
	if (error)
		return error;
	set_attributes(&builder->entries[number], node, number);
	return 0;
}

const struct tree_node *tree_builder_find(struct tree_builder *builder, const char *path)
{
	struct spot spot;

	if (find_path(builder, path, NULL, &spot) || (spot.bytes && !spot.entry))
		return NULL;
	return &builder->entries[builder->entries[spot.entry].link_to];
}

errcode_t tree_builder_link(struct tree_builder *builder, const char *path, const char *target, struct tree_node **file)
{
	struct spot to, spot;

	builder->reason = NULL;
	builder->has_dropped_names = false;
	*file = NULL;
	errcode_t error = find_path(builder, target, NULL, &to);

	if (error == EINVAL || error == ENAMETOOLONG)
		return error;
	if (error || (to.bytes && !to.entry))
		return refuse(builder, ENOENT, NULL);
	if (S_ISDIR(builder->entries[to.entry].mode))
		return refuse(builder, EISDIR, NULL);
	uint32_t holder = builder->entries[to.entry].link_to, number;
	const struct tree_node needed_by = builder->entries[holder];

	error = find_path(builder, path, &needed_by, &spot);
	if (error)
		return error;
	if (!spot.bytes)
		return refuse(builder, EINVAL, "the root must be a directory");
	if (!spot.entry || builder->entries[spot.entry].link_to != holder) {
		error = copy_name(builder, &spot, &number);
		if (error)
			return error;
		builder->entries[number].mode = builder->entries[holder].mode;
		builder->entries[number].link_to = holder;
		builder->entries[holder].links = 1;
	}
	*file = &builder->entries[holder];
	return 0;
}

static struct ascent entry_step(const void *context, uint32_t number)
{
	const struct tree_node *entry = &((const struct tree_builder *)context)->entries[number];

	return (struct ascent){ entry->name, entry->name_bytes, entry->parent };
}

/* Marks excluded entries. A directory's entry comes before those of its members. */
static errcode_t mark_excluded(struct tree_builder *builder)
{
	for (uint32_t i = 1; builder->exclude && i < builder->count; i++) {
		struct tree_node *entry = &builder->entries[i];

		if (!entry_is_child(builder->entries, i) ||
		    (entry->parent != TREE_ROOT && !entry_is_child(builder->entries, entry->parent)))
			continue;
		SCOPE_FREE char *path = path_text("", entry_step, builder, i, NULL);

		if (!path)
			return ENOMEM;
		/* The path is matched without its first slash. */
		if (exclude_matches(builder->exclude, path + 1, S_ISDIR(entry->mode)))
			entry->child_count |= ENTRY_EXCLUDED;
	}
	return 0;
}

uint32_t tree_builder_order(const struct tree_builder *builder)
{
	return (uint32_t)builder->count;
}

errcode_t tree_builder_finish(struct tree_builder *builder, struct pool *pool, uint32_t **order,
                              struct problem *problem)
{
	errcode_t error = mark_excluded(builder);

	if (order)
		*order = NULL;
	if (error)
		return error;
	free_tables(builder);
	return entries_number(builder->tree, &builder->entries, (uint32_t)builder->count, pool, order, problem);
}
