/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/read/paths.h"

#include <errno.h>
#include <string.h>

#include "support/bisect.h"
#include "support/bits.h"
#include "support/vector.h"

/* The kernel takes paths of up to 4096 bytes. Longer ones were made piece by piece; a damaged directory tree may have
 * a circle. */
#define LONGEST_PATH_BYTES 16384

/* An inode whose name is wanted. */
struct wanted {
	uint32_t ino;
	uint32_t parent;
	const char *name; /* from the arena */
};

struct path_search {
	struct inode_scan *scan;
	struct wanted *wanted; /* by inode number, each once */
	size_t count, capacity;
	struct wanted **by_parent;
	bool is_out_of_memory;

	/* By directory being read: the wanted inodes in it. */
	struct wanted **first;
	size_t here;
};

static int by_ino(const void *left, const void *right)
{
	const struct wanted *a = left, *b = right;

	return (a->ino > b->ino) - (a->ino < b->ino);
}

static int by_parent(const void *left, const void *right)
{
	const struct wanted *a = *(struct wanted *const *)left, *b = *(struct wanted *const *)right;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return by_ino(a, b);
}

static struct wanted *find(const struct path_search *search, uint32_t ino)
{
	struct wanted key = { .ino = ino };

	return search->count ? bsearch(&key, search->wanted, search->count, sizeof(key), by_ino) : NULL;
}

static void sort_and_join(struct path_search *search)
{
	size_t kept = 0;

	if (search->count)
		qsort(search->wanted, search->count, sizeof(*search->wanted), by_ino);
	for (size_t n = 0; n < search->count; n++)
		if (!kept || search->wanted[kept - 1].ino != search->wanted[n].ino)
			search->wanted[kept++] = search->wanted[n];
	search->count = kept;
}

static errcode_t want(struct path_search *search, uint32_t ino)
{
	const struct wanted wanted = { .ino = ino, .parent = search->scan->parents[ino] };

	return vector_add(&search->wanted, &search->count, &search->capacity, &wanted, sizeof(wanted));
}

/* Adds the ancestors of wanted inodes, each once: a chain of a million directories takes a million steps. */
static errcode_t want_ancestors(struct path_search *search)
{
	const uint32_t *parents = search->scan->parents;
	SCOPE_FREE uint64_t *known = calloc(bits_words((size_t)search->scan->volume->inodes + 1), sizeof(*known));
	size_t count = search->count;

	if (!known)
		return ENOMEM;
	for (size_t n = 0; n < count; n++)
		bits_set(known, search->wanted[n].ino);
	for (size_t n = 0; n < count; n++) {
		uint32_t ino = search->wanted[n].ino;

		while (ino != EXT2_ROOT_INO && parents[ino] && !bits_test(known, parents[ino])) {
			ino = parents[ino];
			bits_set(known, ino);
			errcode_t error = want(search, ino);

			if (error)
				return error;
		}
	}
	sort_and_join(search);
	return 0;
}

static void read_name(void *context, const struct directory_entry *entry)
{
	struct path_search *search = context;
	size_t found = BISECT(search->here, index, search->first[index]->ino >= entry->ino);

	if (found == search->here || search->first[found]->ino != entry->ino || search->first[found]->name)
		return;
	search->first[found]->name = arena_copy_string(&search->scan->report->arena, entry->name, entry->name_bytes);
	search->is_out_of_memory = search->is_out_of_memory || !search->first[found]->name;
}

static errcode_t read_names(struct path_search *search, struct directory_walker *walker, struct damage_list *damage)
{
	const struct volume *volume = search->scan->volume;
	const struct directory_visitor visitor = { .entry = read_name, .context = search };
	SCOPE_FREE uint8_t *raw = malloc(volume->format.inode_bytes);
	size_t next;

	if (!raw)
		return ENOMEM;
	for (size_t n = 0; n < search->count; n = next) {
		uint32_t directory = search->by_parent[n]->parent;
		struct directory_shape shape;
		struct inode_view inode;

		for (next = n + 1; next < search->count && search->by_parent[next]->parent == directory;)
			next++;
		errcode_t error = volume_read_inode(volume, directory, raw, &inode);

		if (error == ENOMEM)
			return error;
		if (error && directory)
			damage_add(damage, directory, 0, "inode table");
		if (error)
			continue;
		search->first = search->by_parent + n;
		search->here = next - n;
		directory_walk(walker, directory, raw, &inode, &visitor, &shape);
		if (search->is_out_of_memory)
			return ENOMEM;
	}
	return 0;
}

/*
 * *path gets a copy in the arena, or NULL if the ancestors do not lead to the root within LONGEST_PATH_BYTES, the
 * size of buffer.
 */
static errcode_t join_path(struct path_search *search, uint32_t ino, char *buffer, const char **path)
{
	size_t start = LONGEST_PATH_BYTES;

	*path = NULL;
	for (struct wanted *wanted; ino != EXT2_ROOT_INO; ino = wanted->parent) {
		wanted = find(search, ino);
		size_t length = wanted && wanted->name ? strlen(wanted->name) : 0;

		if (!wanted || !wanted->name || length >= start)
			return 0;
		start -= length;
		memcpy(buffer + start, wanted->name, length);
		buffer[--start] = '/';
	}
	if (start == LONGEST_PATH_BYTES)
		buffer[--start] = '/';
	*path = arena_copy_string(&search->scan->report->arena, buffer + start, LONGEST_PATH_BYTES - start);
	return *path ? 0 : ENOMEM;
}

static errcode_t search_names(struct path_search *search)
{
	struct inode_scan *scan = search->scan;
	struct directory_walker walker = { 0 };
	uint64_t map_blocks = 0, directory_blocks = 0;
	struct damage_list damage = { 0 };
	errcode_t error = want_ancestors(search);

	if (error)
		return error;
	search->by_parent = malloc((search->count + 1) * sizeof(struct wanted *));
	if (!search->by_parent)
		return ENOMEM;
	for (size_t n = 0; n < search->count; n++)
		search->by_parent[n] = &search->wanted[n];
	qsort(search->by_parent, search->count, sizeof(struct wanted *), by_parent);
	error = directory_walker_open(scan->volume, damage_list_listener(&damage), &map_blocks, &directory_blocks,
	                              &walker);
	if (error)
		return error;
	error = read_names(search, &walker, &damage);
	directory_walker_close(&walker);
	/* Damage that the scan has reported is not reported twice; but a disk may fail only now. */
	if (!scan->damage.count)
		damage_merge(&scan->damage, &damage);
	return error;
}

errcode_t paths_find(struct inode_scan *scan, const struct path_wanted *wanted, size_t count)
{
	SCOPE_FREE char *buffer = malloc(LONGEST_PATH_BYTES);
	struct path_search search = { .scan = scan };
	errcode_t error = buffer ? 0 : ENOMEM;

	for (size_t n = 0; n < count && !error; n++)
		error = want(&search, wanted[n].ino);
	if (!error)
		error = search_names(&search);
	for (size_t n = 0; n < count && !error; n++)
		error = join_path(&search, wanted[n].ino, buffer, wanted[n].path);
	free(search.wanted);
	free(search.by_parent);
	return error;
}
