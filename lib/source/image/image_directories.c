/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/image/image_scan.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "support/vector.h"

/* The directories of a task. A task tells the system about all their first blocks before it reads any. */
#define CHUNK_DIRECTORIES 64u

struct reading {
	struct image_scan *scan;
	struct image_worker *worker;
	bool stores_hashes;
};

/* The kernel uses the last hash as its mark for the end, so no name has it. Bit 0 is not part of a hash. */
#define HASH_END 0xfffffffeu

static void copy_hashes(const struct directory_entry *entry, char *to)
{
	uint32_t words[2];

	memcpy(words, directory_entry_stored_hashes(entry), sizeof(words));
	words[0] = le32toh(words[0]) & ~1u;
	words[0] = htole32(words[0] == HASH_END ? HASH_END - 2 : words[0]);
	memcpy(to, words, sizeof(words));
}

/*
 * Returns a copy of the name as the tree stores it: if the directory stores hashes, they follow the name. NULL: no
 * memory.
 */
static const char *copy_name(const struct reading *reading, const struct directory_entry *entry)
{
	if (!reading->stores_hashes)
		return arena_copy_string(&reading->worker->memory, entry->name, entry->name_bytes);
	char *name = arena_alloc(&reading->worker->memory, entry->name_bytes + 1ul + TREE_STORED_HASH_BYTES);

	if (!name)
		return NULL;
	memcpy(name, entry->name, entry->name_bytes);
	name[entry->name_bytes] = '\0';
	copy_hashes(entry, name + entry->name_bytes + 1);
	return name;
}

/* Receives a directory's entries. */
static void take_entry(void *context, const struct directory_entry *entry)
{
	struct reading *reading = context;
	struct image_worker *worker = reading->worker;
	const uint64_t bytes = sizeof(struct image_entry) + sizeof(struct tree_node) + entry->name_bytes + 1;

	if (worker->error)
		return;
	worker->error = source_counts_name(reading->scan->options->counts, bytes);
	if (!worker->error)
		worker->error = vector_reserve(&worker->entries, &worker->entry_capacity, worker->entry_count + 1,
		                               sizeof(*worker->entries));
	const char *name = worker->error ? NULL : copy_name(reading, entry);

	if (!worker->error && !name)
		worker->error = ENOMEM;
	if (worker->error)
		return;
	struct image_inode *inode = image_find_inode(reading->scan, entry->ino);

	worker->entries[worker->entry_count++] = (struct image_entry){
		.name = name,
		.name_bytes = entry->name_bytes,
		.ino = entry->ino,
		.inode = inode,
		.is_directory = inode && S_ISDIR(inode->node.mode) && inode->refusal == IMAGE_TAKEN,
	};
}

static int by_name(const void *one, const void *other)
{
	const struct image_entry *first = one, *second = other;

	return tree_name_compare(first->name, first->name_bytes, second->name, second->name_bytes);
}

static errcode_t keep_entries(struct reading *reading, struct image_directory *directory)
{
	struct image_worker *worker = reading->worker;
	size_t count = worker->entry_count, bytes = count * sizeof(*worker->entries);

	if (count > UINT32_MAX)
		return EOVERFLOW;
	if (!count)
		return 0;
	directory->entries = arena_alloc(&worker->scratch, bytes);
	if (!directory->entries)
		return ENOMEM;
	memcpy(directory->entries, worker->entries, bytes);
	qsort(directory->entries, count, sizeof(*directory->entries), by_name);
	for (size_t n = 0; n < count; n++) {
		const struct image_entry *entry = &directory->entries[n];

		if (directory->count && !by_name(&directory->entries[directory->count - 1], entry)) {
			damage_tell(&worker->damage, directory->inode->ino, 0, "name that a directory has twice");
			continue;
		}
		directory->subdirectory_count += entry->is_directory;
		directory->entries[directory->count++] = *entry;
	}
	return 0;
}

static errcode_t read_directory(struct reading *reading, struct image_directory *directory)
{
	struct image_worker *worker = reading->worker;
	const struct directory_visitor visitor = { .entry = take_entry, .context = reading };
	uint32_t ino = directory->inode->ino;
	struct directory_shape shape;
	struct inode_view view;
	bool is_damaged;

	if (directory->inode->refusal)
		return 0;
	image_begin_inode(worker, ino);
	inode_view_read(&reading->scan->volume->format, directory->raw, &view);
	reading->stores_hashes = inode_view_stores_hashes(&view);
	worker->entry_count = 0;
	worker->error = 0;
	directory_walk(&worker->walker, ino, directory->raw, &view, &visitor, &shape);
	errcode_t error = worker->error ? worker->error : keep_entries(reading, directory);

	if (!error)
		error = image_end_inode(worker, &is_damaged);
	if (error || !is_damaged)
		return error;
	/* A caller that hears of what is left out gets the names of the other blocks. */
	if (reading->scan->options->left_out)
		directory->is_partial = true;
	else
		directory->inode->refusal = IMAGE_DAMAGED;
	return 0;
}

static errcode_t read_chunk(void *context, unsigned int number, size_t index, struct problem *problem)
{
	struct image_scan *scan = context;
	size_t first = index * CHUNK_DIRECTORIES, end = first + CHUNK_DIRECTORIES;
	struct image_worker *worker;
	errcode_t error = image_open_worker(scan, number, 1, &worker);

	if (end > scan->directory_count)
		end = scan->directory_count;
	for (size_t n = first; !error && n < end; n++)
		if (scan->directories[scan->order[n]].first_block)
			error = image_add_expected(worker, scan->directories[scan->order[n]].first_block);
	if (!error)
		image_expect(scan->volume, worker);
	for (size_t n = first; !error && n < end; n++)
		error = read_directory(&(struct reading){ .scan = scan, .worker = worker },
		                       &scan->directories[scan->order[n]]);
	return error ? image_failure(scan, error, problem) : 0;
}

static int by_block(const void *one, const void *other, void *directories)
{
	const struct image_directory *first = (const struct image_directory *)directories + *(const uint32_t *)one;
	const struct image_directory *second = (const struct image_directory *)directories + *(const uint32_t *)other;

	if (first->first_block != second->first_block)
		return first->first_block < second->first_block ? -1 : 1;
	return first->inode->ino < second->inode->ino ? -1 : 1;
}

errcode_t image_read_directories(struct image_scan *scan, struct problem *problem)
{
	size_t count = scan->directory_count;

	scan->order = malloc((count + 1) * sizeof(*scan->order));
	if (!scan->order)
		return image_failure(scan, ENOMEM, problem);
	for (uint32_t n = 0; n < count; n++)
		scan->order[n] = n;
	qsort_r(scan->order, count, sizeof(*scan->order), by_block, scan->directories);
	errcode_t error =
		pool_run(scan->readers, (count + CHUNK_DIRECTORIES - 1) / CHUNK_DIRECTORIES, read_chunk, scan, problem);

	if (!error)
		error = image_gather_notes(scan);
	return error ? image_failure(scan, error, problem) : 0;
}
