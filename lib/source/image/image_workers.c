/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/image/image_scan.h"

#include <errno.h>

#include "support/bisect.h"
#include "support/vector.h"

/* Keeps the first damage only: later damage may be its consequence. */
static void hear(void *context, const struct image_damage *damage)
{
	struct image_worker *worker = context;

	if (!worker->met.what && damage->what) {
		worker->met.what = damage->what;
		worker->met.block = damage->block;
	}
}

errcode_t image_open_worker(struct image_scan *scan, unsigned int number, unsigned int phase, struct image_worker **ret)
{
	struct image_worker *worker = *ret = &scan->workers[number];

	worker->damage = (struct damage_listener){ hear, worker };
	if (!worker->is_open) {
		errcode_t error = directory_walker_open(scan->volume, worker->damage, &scan->blocks_of_maps[phase],
		                                        &scan->blocks_of_directories, &worker->walker);

		if (error)
			return error;
		worker->is_open = true;
		worker->walker.map.is_strict = true;
	}
	worker->walker.map.blocks_read = &scan->blocks_of_maps[phase];
	if (!phase && !worker->table)
		worker->table = malloc(IMAGE_PIECE_BYTES);
	return phase || worker->table ? 0 : ENOMEM;
}

void image_begin_inode(struct image_worker *worker, uint32_t ino)
{
	worker->met = (struct image_note){ .ino = ino };
}

errcode_t image_end_inode(struct image_worker *worker, bool *is_damaged)
{
	*is_damaged = worker->met.what;
	if (!*is_damaged)
		return 0;
	errcode_t error =
		vector_reserve(&worker->notes, &worker->note_capacity, worker->note_count + 1, sizeof(*worker->notes));

	if (!error)
		worker->notes[worker->note_count++] = worker->met;
	return error;
}

static int by_ino(const void *one, const void *other)
{
	const struct image_note *first = one, *second = other;

	if (first->ino != second->ino)
		return first->ino < second->ino ? -1 : 1;
	return first->order < second->order ? -1 : first->order > second->order;
}

/* Gathers the workers' notes. Damage to a directory's inode comes before damage to its blocks. */
errcode_t image_gather_notes(struct image_scan *scan)
{
	size_t count = scan->note_count, capacity = count;

	for (unsigned int n = 0; n < scan->worker_count; n++)
		count += scan->workers[n].note_count;
	errcode_t error = vector_reserve(&scan->notes, &capacity, count + 1, sizeof(*scan->notes));

	if (error)
		return error;
	for (unsigned int n = 0; n < scan->worker_count; n++) {
		struct image_worker *worker = &scan->workers[n];

		for (size_t i = 0; i < worker->note_count; i++) {
			scan->notes[scan->note_count] = worker->notes[i];
			scan->notes[scan->note_count++].order = scan->order ? 1 : 0;
		}
		worker->note_count = 0;
	}
	qsort(scan->notes, scan->note_count, sizeof(*scan->notes), by_ino);
	return 0;
}

const struct image_note *image_find_note(const struct image_scan *scan, uint32_t ino)
{
	size_t at = BISECT(scan->note_count, n, scan->notes[n].ino >= ino);

	return at < scan->note_count && scan->notes[at].ino == ino ? &scan->notes[at] : NULL;
}

errcode_t image_add_expected(struct image_worker *worker, uint64_t block)
{
	errcode_t error =
		vector_reserve(&worker->blocks, &worker->block_capacity, worker->block_count + 1, sizeof(block));

	if (!error)
		worker->blocks[worker->block_count++] = block;
	return error;
}

static int by_number(const void *one, const void *other)
{
	uint64_t first = *(const uint64_t *)one, second = *(const uint64_t *)other;

	return (first > second) - (first < second);
}

void image_expect(const struct volume *volume, struct image_worker *worker)
{
	const uint64_t *blocks = worker->blocks;
	size_t count = worker->block_count;

	if (count)
		qsort(worker->blocks, count, sizeof(*blocks), by_number);
	for (size_t next, n = 0; n < count; n = next) {
		for (next = n + 1; next < count && blocks[next] - blocks[next - 1] <= 1;)
			next++;
		uint64_t length = blocks[next - 1] - blocks[n] + 1;

		if (volume_has_blocks(volume, blocks[n], length))
			volume_expect(volume, blocks[n], length);
	}
	worker->block_count = 0;
}

errcode_t image_failure(const struct image_scan *scan, errcode_t error, struct problem *problem)
{
	if (error == EDQUOT)
		return source_counts_problem(scan->options->counts, problem);
	return problem_set(problem, error, scan->name, "cannot read");
}
