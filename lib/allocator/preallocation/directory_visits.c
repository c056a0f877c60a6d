/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "allocator/preallocation/directory_visits.h"

#define LEAST_ARRIVALS 3u /* fewer directories show no order */
#define RETURNS_SHARE 8u  /* one return in so many arrivals is still in order */

static bool is_recent(const struct directory_visits *visits, ext2_ino_t directory)
{
	for (uint32_t index = 0; index < DIRECTORY_VISITS_RECENT; index++)
		if (visits->recent[index] == directory)
			return true;
	return false;
}

void directory_visits_note(struct directory_visits *visits, ext2_ino_t directory, bool is_known)
{
	if (visits->stays + visits->arrivals + visits->returns >= DIRECTORY_VISITS_MOST) {
		visits->stays /= 2;
		visits->arrivals /= 2;
		visits->returns /= 2;
	}
	if (is_recent(visits, directory)) {
		visits->stays++;
		return;
	}
	if (is_known)
		visits->returns++;
	else
		visits->arrivals++;
	visits->recent[visits->oldest] = directory;
	visits->oldest = (visits->oldest + 1) % DIRECTORY_VISITS_RECENT;
}

bool directory_visits_in_order(const struct directory_visits *visits)
{
	return visits->arrivals >= LEAST_ARRIVALS && visits->stays >= visits->arrivals &&
	       visits->returns * RETURNS_SHARE <= visits->arrivals;
}
