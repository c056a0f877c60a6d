/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of `help COMMAND` follows the usage and the line of debugmb.ct: arguments, the words of the output, an
 * example. tests/debugmb-help runs the examples, and looks for the words that commands print.
 */
#include "help.h"

#include <stddef.h>
#include <string.h>

#define RANGE "  The groups are one (5), several (5-9) or those from one on (5-); without them all.\n"

static const struct {
	const char *command;
	const char *text;
} topics[] = {
	{ "open", "  -w  also for writing; it must not be mounted, and its journal must be empty\n"
	          "  -j  for writing through its journal, which is replayed first: each sync is one transaction\n"
	          "Example: open -w disk.img\n" },
	{ "close", "  It discards preallocations and writes as sync does. No filesystem is open after it.\n"
	           "Example: close\n" },
	{ "mb_groups",
	  RANGE "Output, in clusters, as /proc/fs/ext4/DEVICE/mb_groups:\n"
	        "  #group   its number\n"
	        "  free     free clusters\n"
	        "  frags    free extents\n"
	        "  first    the first free cluster, or where to look for it\n"
	        "  2^K      free buddies: runs of 2^K free clusters at multiples of 2^K, in no longer one\n"
	        "Example: mb_groups 0-1\n" },
	{ "mb_stats", "Output, as /proc/fs/ext4/DEVICE/mb_stats, since the allocator was opened:\n"
	              "  reqs, success      requests, and those that got blocks\n"
	              "  cr_..._stats       for each criterion (see help explain):\n"
	              "  hits               requests that it served\n"
	              "  groups_considered  groups whose summary it looked at\n"
	              "  extents_scanned    free extents that it measured\n"
	              "  useless_loops      searches in which it found nothing\n"
	              "Example: mb_stats\n" },
	{ "mb_structs", "Output, as /proc/fs/ext4/DEVICE/mb_structs_summary:\n"
	                "  max_free_order_lists     how many groups have a largest free buddy of each order\n"
	                "  avg_fragment_size_lists  how many groups have an average free extent of each order\n"
	                "Example: mb_structs\n" },
	{ "orders", "  ORDER  lists the groups of this order, instead of how many there are\n"
	            "Output:\n"
	            "  order, clusters  the order K, and 2^K\n"
	            "  by_largest       groups whose largest free buddy has this order\n"
	            "  by_average       groups whose average free extent has 2^(K+1) clusters to twice as many\n"
	            "Example: orders 3\n" },
	{ "goals", "Output:\n"
	           "  goal   a stream goal: a large file uses the one of its inode number modulo their number\n"
	           "  group  where the last large file of this goal got blocks, and where the next one begins\n"
	           "Example: goals\n" },
	{ "policy", "  NAME            ext2mb (ours), series (Linux since 6.17) or base (Linux before)\n"
	            "  ./LIBRARY       a shared library with a policy of your own\n"
	            "  TUNABLE=VALUE   one of those that it shows\n"
	            "Output:\n"
	            "  can be set, fixed, not modelled  of a tunable, under the policy that is in force\n"
	            "Example: policy series\n" },
	{ "alloc",
	  "  LENGTH   blocks; the extent may have fewer\n"
	  "  GOAL     the block at which it should begin\n"
	  "  INODE    they are for a file with this number, which grows with each call; there may be preallocations\n"
	  "  PARENT   the inode number of its directory\n"
	  "  FLAG     goal-only: at the goal or nowhere; stream: for a large file; pack: the first free run after the\n"
	  "           goal; whole: in one piece or not at all. With -i: unwritten, as fallocate does\n"
	  "Output:\n"
	  "  start, blocks, group  the extent: its first block, its length, and where it lies\n"
	  "Example: alloc -i 12 64\n" },
	{ "free", "  START   the first block\n"
	          "  LENGTH  blocks; all of them must be in use\n"
	          "  They can be allocated again after commit.\n"
	          "Example: free 5000 64\n" },
	{ "commit", "  What was freed before can be allocated again.\n"
	            "Example: commit\n" },
	{ "prealloc", "Output:\n"
	              "  start, blocks, group  the extent that is kept\n"
	              "  inode                 the file for which it is kept; 0: small files share it\n"
	              "Example: prealloc\n" },
	{ "orphans", "  add INODE  makes one of an inode that is in use\n"
	             "  del INODE  takes it off the orphans\n"
	             "Output:\n"
	             "  inode, links  a mount would delete it if it has no links, and truncate it otherwise\n"
	             "  where, slot   in the orphan file or on the list of the superblock, and at which place\n"
	             "Example: orphans\n" },
	{ "explain",
	  "  LENGTH  blocks that are wanted\n"
	  "  GOAL    a block: policy ext2mb takes the blocks there if they are free; otherwise, and always under "
	  "series\n"
	  "          and base, the search begins in its group\n"
	  "Output: the criteria in their order, each with the groups that it looked at, and what was taken.\n"
	  "  power of two      a free buddy of just this length, which must be a power of two\n"
	  "  goal length fast  a group whose average free extent is long enough\n"
	  "  best available    the same for shorter and shorter lengths; ext2mb: by the largest free buddies\n"
	  "  goal length slow  any group with so many free clusters\n"
	  "  any free          any group with a free cluster\n"
	  "  found, in vain    whether the criterion found blocks\n"
	  "  for N             the length in clusters that it looked for in this group\n"
	  "  taken             the blocks are from this group\n"
	  "  looked through, no run was what is wanted  its summary was good enough, its free extents were not\n"
	  "  full, corrupt     it has no free cluster; it is damaged\n"
	  "  the first of its flex group, kept for directories  power of two leaves it out for files\n"
	  "  largest free buddy of, no free extent longer than, average free extent of, free clusters:\n"
	  "                    what the group has at most; it was too little\n"
	  "  not looked at     the index did not name the group, for this reason\n"
	  "  at the goal, after the last request  no criterion was needed\n"
	  "Nothing is changed. After policy series it is what Linux does when it has no preallocation for the file.\n"
	  "Example: explain 64\n" },
	{ "map", RANGE "Output: a character for each group; with groups named, a line for each of them.\n"
	               "  .  free\n"
	               "  -  less than half in use\n"
	               "  +  half in use or more\n"
	               "  #  all in use\n"
	               "  p  blocks are preallocated there\n"
	               "  !  the group is corrupt\n"
	               "Example: map 0-3\n" },
	{ "check", "Output:\n"
	           "  clean  groups, index and counters are what the bitmaps say; otherwise what differs\n"
	           "Example: check\n" },
	{ "sync", "  It discards preallocations, commits, and writes bitmaps, descriptors, superblock and orphans.\n"
	          "Example: sync\n" },
	{ "transaction", "  The filesystem must have been opened with -j.\n"
	                 "Output:\n"
	                 "  journal  the number of the block in the log; -: it is written after the log\n"
	                 "  at       where on the disk that is\n"
	                 "  block    the block whose contents it has, and its group\n"
	                 "  what     its kind: superblock, group descriptors, block bitmap, and so on\n"
	                 "Example: transaction\n" },
	{ "stats",
	  "  -r  resets the counters\n"
	  "Output: blocks and inodes that are free now, then how often each thing happened since the allocator\n"
	  "was opened or the counters were reset. ext2mb.h explains them (struct ext2mb_stats).\n"
	  "Example: stats\n" },
	{ "help",
	  "  COMMAND  its arguments, the words of its output, and an example; without it all commands, a line each\n"
	  "Example: help explain\n" },
	{ "quit", "  It writes what was changed, as sync does.\n"
	          "Example: quit\n" },
};

const char *help_text(const char *command)
{
	for (size_t index = 0; index < sizeof(topics) / sizeof(*topics); index++)
		if (strcmp(topics[index].command, command) == 0)
			return topics[index].text;
	return "";
}
