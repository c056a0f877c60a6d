/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/read/damage.h"

#include <string.h>

static bool is_before(const struct report_damage *left, const struct report_damage *right)
{
	if (left->ino != right->ino)
		return left->ino < right->ino;
	if (left->block != right->block)
		return left->block < right->block;
	return strcmp(left->what, right->what) < 0;
}

/* Keeps it if it is among the first. */
static void keep(struct damage_list *list, const struct report_damage *damage)
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

void damage_add(struct damage_list *list, uint32_t ino, uint64_t block, const char *what)
{
	list->count++;
	keep(list, &(struct report_damage){ .ino = ino, .block = block, .what = what });
}

void damage_merge(struct damage_list *to, const struct damage_list *from)
{
	to->count += from->count;
	for (unsigned int n = 0; n < from->kept; n++)
		keep(to, &from->first[n]);
}
