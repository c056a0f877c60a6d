/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/preallocation/directory_visits.h"

#include <string.h>

#define LEAST_ARRIVALS 3u /* fewer directories show no order */
#define RETURNS_SHARE 8u  /* one return in so many arrivals is still in order */
#define LEAST_IN_FEW 8u   /* files in a row that were not there by chance */

/* Makes the directory the newest of the recent ones. Returns true if it was one of them. */
static bool visit(struct directory_visits *visits, ext2_ino_t directory)
{
	uint32_t last = 0;

	while (last < DIRECTORY_VISITS_RECENT - 1 && visits->recent[last] != directory)
		last++;
	bool was_recent = visits->recent[last] == directory;

	visits->in_few = was_recent && last < DIRECTORY_VISITS_FEW ? visits->in_few + 1 : 0;
	memmove(visits->recent + 1, visits->recent, last * sizeof(*visits->recent));
	visits->recent[0] = directory;
	return was_recent;
}

void directory_visits_note(struct directory_visits *visits, ext2_ino_t directory, bool is_known)
{
	if (visits->stays + visits->arrivals + visits->returns >= DIRECTORY_VISITS_MOST) {
		visits->stays /= 2;
		visits->arrivals /= 2;
		visits->returns /= 2;
	}
	if (visit(visits, directory)) {
		visits->stays++;
		return;
	}
	if (is_known)
		visits->returns++;
	else
		visits->arrivals++;
}

bool directory_visits_in_order(const struct directory_visits *visits)
{
	return visits->arrivals >= LEAST_ARRIVALS && visits->stays >= visits->arrivals &&
	       visits->returns * RETURNS_SHARE <= visits->arrivals;
}

bool directory_visits_scattered(const struct directory_visits *visits)
{
	return visits->recent[DIRECTORY_VISITS_FEW] && visits->in_few < LEAST_IN_FEW &&
	       !directory_visits_in_order(visits);
}
