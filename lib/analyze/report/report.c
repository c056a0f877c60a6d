/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "support/vector.h"

void report_destroy(struct report *report)
{
	free(report->free.groups);
	free(report->free.zones);
	free(report->worst.files);
	free(report->by_directory);
	if (report->unlink) {
		free(report->unlink->costly);
		free(report->unlink->shared);
	}
	free(report->unlink);
	free(report->map_cells);
	if (report->outlook)
		free(report->outlook->free.zones);
	free(report->outlook);
	arena_destroy(&report->arena);
}

/* --- The worst files ---------------------------------------------------------------------------------------- */

/* Files that the verdict counts come first. */
static int rank_of(const struct report_file *file)
{
	return file->kind == FILE_SCATTERED ? 0 : file->kind == FILE_SPARSE ? 2 : 1;
}

static int worse_first(const void *left, const void *right)
{
	const struct report_file *a = left, *b = right;
	uint64_t excess = a->runs - a->ideal_extents, other = b->runs - b->ideal_extents;

	if (rank_of(a) != rank_of(b))
		return rank_of(a) - rank_of(b);
	return excess != other ? (excess < other) - (excess > other) : (a->ino > b->ino) - (a->ino < b->ino);
}

void worst_sort(struct worst_files *worst)
{
	if (worst->count)
		qsort(worst->files, worst->count, sizeof(*worst->files), worse_first);
	worst->count = worst->count < worst->limit ? worst->count : worst->limit;
}

errcode_t worst_add(struct worst_files *worst, const struct report_file *file)
{
	if (!worst->limit || file->runs <= file->ideal_extents || (worst->is_of_one_kind && file->kind != worst->kind))
		return 0;
	/* Sorting only now and then costs no more per file than a heap would. */
	if (worst->count / 2 >= worst->limit)
		worst_sort(worst);
	return vector_add(&worst->files, &worst->count, &worst->capacity, file, sizeof(*file));
}

/* --- The largest inodes ------------------------------------------------------------------------------------- */

void largest_add(struct largest_inodes *largest, uint32_t ino, uint64_t blocks, uint64_t names)
{
	unsigned int place = largest->count;

	while (place && (largest->most[place - 1].blocks < blocks ||
	                 (largest->most[place - 1].blocks == blocks && largest->most[place - 1].ino > ino)))
		place--;
	if (place == REPORT_MOST_NAMED)
		return;
	largest->count += largest->count < REPORT_MOST_NAMED;
	for (unsigned int last = largest->count - 1; last > place; last--)
		largest->most[last] = largest->most[last - 1];
	largest->most[place].path = NULL;
	largest->most[place].ino = ino;
	largest->most[place].blocks = blocks;
	largest->most[place].names = names;
}

void largest_merge(struct largest_inodes *to, const struct largest_inodes *from)
{
	for (unsigned int n = 0; n < from->count; n++)
		largest_add(to, from->most[n].ino, from->most[n].blocks, from->most[n].names);
}

/* --- Damage ------------------------------------------------------------------------------------------------- */

static bool is_before(const struct image_damage *left, const struct image_damage *right)
{
	if (left->ino != right->ino)
		return left->ino < right->ino;
	if (left->block != right->block)
		return left->block < right->block;
	if (left->group != right->group)
		return left->group < right->group;
	return strcmp(left->what, right->what) < 0;
}

/* Keeps damage that is among the first. */
static void keep(struct damage_list *list, const struct image_damage *damage)
{
	unsigned int place = list->kept;

	if (place == REPORT_MAX_DAMAGE) {
		if (!is_before(damage, &list->first[place - 1]))
			return;
		place--;
	} else {
		list->kept++;
	}
	for (; place && is_before(damage, &list->first[place - 1]); place--)
		list->first[place] = list->first[place - 1];
	list->first[place] = *damage;
}

static void add_heard(void *context, const struct image_damage *damage)
{
	struct damage_list *list = context;

	list->count++;
	keep(list, damage);
}

struct damage_listener damage_list_listener(struct damage_list *list)
{
	return (struct damage_listener){ add_heard, list };
}

void damage_add(struct damage_list *list, uint32_t ino, uint64_t block, const char *what)
{
	list->count++;
	keep(list, &(struct image_damage){ .ino = ino, .block = block, .what = what });
}

void damage_add_group(struct damage_list *list, uint32_t group, const char *what)
{
	list->count++;
	keep(list, &(struct image_damage){ .is_of_group = true, .group = group, .what = what });
}

void damage_merge(struct damage_list *to, const struct damage_list *from)
{
	to->count += from->count;
	for (unsigned int n = 0; n < from->kept; n++)
		keep(to, &from->first[n]);
}
