/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * How a group is chosen, of falling quality. The first three look only at groups that an order set names.
 *
 * A further criterion is a value here, in its place by quality. Before GOAL_LENGTH_SLOW it goes by order sets, from
 * there on over all groups. search_begin_criterion() (search/group_search.c) then needs a row, which says which groups
 * are good enough. The compiler asks for a case in sweep_range() (search/scan.c), which says in which order they are
 * looked at, and for names in ext2mb.c and stats_text.c. plan() in compare/kernel_sweep.c says what the kernel's older
 * sweeps make of it. try_criteria() in scan.c comes to it by itself; scan_sweep() treats POWER_OF_TWO and
 * BEST_AVAILABLE apart. All counters have room for it. ext2mb_read_criterion_stats() shows its index to callers, so a
 * release may only add at the end; tests/unit/test_ext2mb_extremes.c repeats the list.
 */
enum criterion {
	POWER_OF_TWO,     /* a buddy of the very length: nothing is measured */
	GOAL_LENGTH_FAST, /* groups whose average fragment is long enough */
	BEST_AVAILABLE,   /* the same with the length trimmed, but to no less than the original request */
	GOAL_LENGTH_SLOW, /* all groups with enough free clusters */
	ANY_FREE,         /* anything */
	CRITERIA,
};
