/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The criteria by which a search chooses groups, best first. The first three search only groups that an order set
 * names.
 *
 * A further criterion needs a value here, ordered by quality. Values before GOAL_LENGTH_SLOW use order sets; the others
 * search all groups. search_begin_criterion() (search/group_search.c) needs a row, which says which groups are good
 * enough. The compiler asks for a case in sweep_range() (search/scan.c), which says in which order groups are searched,
 * and for names in ext2mb.c and stats_text.c. plan() in compare/kernel_sweep.c maps it to the kernel's older sweeps.
 * try_criteria() in scan.c needs no change; scan_sweep() treats POWER_OF_TWO and BEST_AVAILABLE specially. All counters
 * have room for it. ext2mb_read_criterion_stats() shows its index to callers, so a release may only add at the end;
 * tests/unit/test_ext2mb_extremes.c repeats the list.
 */
enum criterion {
	POWER_OF_TWO,     /* a buddy of exactly that length: no run is measured */
	GOAL_LENGTH_FAST, /* groups whose average fragment is long enough */
	BEST_AVAILABLE,   /* the same with the length trimmed, but to no less than the original request */
	GOAL_LENGTH_SLOW, /* all groups with enough free clusters */
	ANY_FREE,         /* any group with a free cluster */
	CRITERIA,
};
