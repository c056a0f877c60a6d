/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef EXT2FS_CRITERION_H
#define EXT2FS_CRITERION_H

/*
 * How a group is chosen, of falling quality. The first three look only at groups that an order set names.
 *
 * A further criterion is a value here, in its place by quality; a case in search_suits() (search/group_search.c), which
 * says which groups are good enough; if it goes by an order set, a case in sweep_range() (search/scan.c), which says in
 * which order; and a name in the tables of ext2mb.c and stats_text.c. try_criteria() then comes to it by itself, and
 * all counters have room for it.
 */
enum criterion {
	POWER_OF_TWO,     /* a buddy of the very length: nothing is measured */
	GOAL_LENGTH_FAST, /* groups whose average fragment is long enough */
	BEST_AVAILABLE,   /* the same with the length trimmed, but to no less than the original request */
	GOAL_LENGTH_SLOW, /* all groups with enough free clusters */
	ANY_FREE,         /* anything */
	CRITERIA,
};

#endif
