/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All findings of e2frag about a filesystem, as values: every form of output (text, JSON, HTML, a comparison) is made
 * only from this. Units are filesystem blocks unless the name says otherwise; lists are in the order in which they
 * are shown; nothing depends on the number of threads.
 */
#pragma once

#include "analyze/report/layout.h"
#include "analyze/report/score.h"
#include "image/damage.h"
#include "support/arena.h"
#include "support/histogram.h"
#include "support/problem.h"

struct delta;
struct report_history;

struct report_filesystem {
	const char *target;    /* as the user named it */
	const char *device;    /* the file or device that has it */
	uint64_t offset_bytes; /* of the filesystem in it */
	char label[17];
	char uuid[37];
	uint32_t block_bytes;
	uint32_t cluster_blocks; /* 1 without bigalloc */
	uint32_t blocks_per_group;
	uint32_t groups;
	uint32_t inodes, free_inodes;
	uint32_t stride_blocks, stripe_blocks; /* of a RAID, as the superblock says; 0: it does not */
	uint64_t first_block;
	uint64_t blocks;
	uint64_t span_blocks;    /* score_span() */
	uint64_t missing_blocks; /* missing at the end: the file is cut off, or the device too small */
	bool has_extents;        /* the feature */
	bool journals_data;      /* data=journal is the default mount option */
	bool is_mounted;         /* the filesystem may have changed while it was read */
	bool needs_recovery;     /* the journal has blocks that are not in place yet */
};

#define REPORT_MAX_ORDERS 20 /* for block sizes up to 64 KiB */

/* A group's free space, in clusters, as the kernel's mb_groups shows it. */
struct report_group {
	uint32_t free_clusters;
	uint32_t fragments;
	uint32_t first_free; /* the number of clusters if none is free */
	uint32_t largest_clusters;
	bool is_unreadable;                 /* or the bitmap is wrong */
	uint32_t orders[REPORT_MAX_ORDERS]; /* free buddies of 2^order clusters */
};

/* The filesystem is divided into zones of equal length to show where its free space is. */
struct report_zone {
	uint64_t first_group;
	uint32_t groups;
	uint64_t blocks;
	uint64_t free_blocks;
	uint64_t extents; /* that begin in it */
	uint64_t largest; /* of those within one group */
};

struct report_free {
	struct histogram sizes; /* of the free extents in blocks: the count is their number, the sum the free blocks */
	uint64_t largest_start; /* start of the first of the largest extents */
	uint64_t largest_allocatable;    /* within one group: the most that a single allocation gets */
	uint64_t superblock_free_blocks; /* as the superblock says */
	uint64_t reserved_blocks;
	uint64_t unreadable_groups; /* groups whose bitmaps cannot be read or are wrong: their free blocks are unknown
	                             * and not counted */
	uint64_t unsettled_groups;  /* groups of a filesystem in use whose bitmap and descriptor differ, as they may;
	                             * counted */

	/* Only with a chunk size: whole chunks of the filesystem, and those that are entirely free. */
	uint64_t chunk_blocks; /* 0: not given */
	uint64_t chunks, free_chunks;

	unsigned int orders;         /* valid in each group's list */
	struct report_group *groups; /* NULL unless asked for */
	struct report_zone *zones;
	size_t zone_count;
};

/* Sums over files of one kind: counts only. */
struct report_sums {
	uint64_t files; /* with blocks */
	struct layout_counts counts;
	uint64_t ideal_extents;
	uint64_t map_blocks;       /* blocks of extent trees and indirect maps */
	uint64_t fragmented_files; /* with more extents than is ideal */
};

/* The layout of a file, by verdict_decide(). */
enum file_kind {
	FILE_WELL,
	FILE_SCATTERED, /* in many short pieces that could be joined */
	FILE_SPARSE,    /* in many short pieces because of holes and unwritten parts */
	FILE_SPLIT,     /* in a few short pieces that could be joined */
};

/* Why e4defrag does not join a file's pieces, by verdict_obstacle(). */
enum file_obstacle {
	OBSTACLE_NONE,
	OBSTACLE_KIND, /* it refuses the file or the filesystem; a copy can be made */
	OBSTACLE_SIZE, /* the file is larger than the free space */
};

/* Files of one of these kinds; counts only. */
struct report_kind {
	uint64_t files;
	uint64_t large_files; /* of these: VERDICT_LARGE_BYTES and more */
	uint64_t blocks;
	uint64_t surplus_runs; /* more than is ideal */
};

struct report_kinds {
	struct report_kind all;
	struct report_kind scattered, sparse, split;
	struct report_kind refused, too_large; /* the scattered ones with an obstacle */
};

struct report_files {
	struct report_sums regular;       /* regular files */
	struct report_kinds kinds;        /* the same files */
	uint64_t inodes;                  /* in use, of all kinds, without the filesystem's own */
	uint64_t empty;                   /* regular files without any block, not counted in regular.files */
	uint64_t inline_data;             /* regular files with inline data; not counted in regular */
	uint64_t by_extents, by_indirect; /* regular files with blocks, by the form of their maps */
	struct seek_counts between;       /* from each to the next, in the order of inode numbers */
	struct report_sums symlinks;      /* long ones */
	struct report_sums xattr_values;  /* inodes of the feature ea_inode */
	uint64_t xattr_blocks;
	uint64_t owned_blocks;      /* of the regular files with blocks, to the ends of their clusters */
	uint64_t slack_bytes;       /* of these blocks, beyond the ends of the files, preallocated ones left out */
	uint64_t map_borders;       /* places in runs where a block of an indirect map begins */
	uint64_t stripe_pieces;     /* pieces of files that are as long as a stripe */
	uint64_t stripe_beginning;  /* of these: that begin at one */
	unsigned int largest_depth; /* of an extent tree, 0: all in the inode; the members before it are counts */
	struct histogram extents_per_file; /* of regular files with blocks */
	struct histogram extent_blocks;    /* of their extents */
	double score, ratio;               /* of regular.runs, as e4defrag -c computes them */
};

#define REPORT_HTREE_LEVELS 4

struct report_directories {
	struct report_sums sums;
	uint64_t count;
	uint64_t inline_data;
	uint64_t linear;
	uint64_t indexed[REPORT_HTREE_LEVELS];      /* htree directories by levels of index blocks below the root's */
	uint64_t entries;                           /* names, without . and .. */
	uint64_t nearly_empty, nearly_empty_blocks; /* see verdict_is_nearly_empty() */
	struct histogram blocks_per_directory;      /* the members before it are counts */
};

struct report_file {
	const char *path; /* any bytes but NUL; NULL: no directory names it */
	uint32_t ino;
	uint64_t blocks;
	uint64_t extents, runs, records, ideal_extents;
	uint64_t size_bytes;
	enum file_kind kind;
};

/* The files below one directory, with those of subdirectories beyond the depth. */
struct report_directory {
	const char *path;
	uint32_t ino;
	uint64_t files; /* with blocks */
	uint64_t blocks, extents, runs, ideal_extents;
	double score;
};

#define REPORT_MOST_NAMED 5

/* The inodes with the most blocks of some kind, the largest first; among equals, the lower numbers. Zero-initialise. */
struct largest_inodes {
	unsigned int count;
	struct {
		const char *path; /* NULL: nothing names it */
		uint32_t ino;
		uint64_t blocks, names;
	} most[REPORT_MOST_NAMED];
};

/*
 * The N files with the most runs above the ideal number, which is what the score counts. Scattered files, which the
 * verdict counts, come first, and sparse ones last, because nothing can be done about them; among equals, the lower
 * inode numbers. The order is not by filefrag's extents: they are fewer if holes or unwritten blocks end runs, and
 * would not explain the score. One thread at a time; zero-initialise but for `limit`.
 */
struct worst_files {
	size_t limit;        /* SIZE_MAX: all */
	bool is_of_one_kind; /* all others are left out */
	enum file_kind kind;
	size_t count, capacity;
	struct report_file *files; /* owned; up to twice the limit until they are sorted */
};

#define REPORT_MAX_DAMAGE 20 /* damage that is named */

/* Counts all damage and names the first pieces, in an order that does not depend on the workers. Zero-initialise; one
 * thread at a time. */
struct damage_list {
	uint64_t count;
	unsigned int kept;
	struct image_damage first[REPORT_MAX_DAMAGE]; /* the lowest by inode, block, group and text */
};

/* Writes of deleting the files of one directory, without subdirectories. */
struct report_unlink_directory {
	const char *path; /* NULL: nothing names it */
	uint32_t ino;
	uint64_t files; /* with blocks */
	uint64_t block_bitmaps;
	uint64_t shared_bitmaps; /* of these: files of other directories have blocks in the same groups */
	uint64_t inode_bitmaps;
	uint64_t writes; /* of bitmaps, one for each transaction that changes it */
};

#define REPORT_SHARERS 3

struct report_sharer {
	const char *path;
	uint32_t ino;
	uint64_t files; /* with blocks in the group; 0: the entry is unused */
};

struct report_shared_bitmap {
	uint32_t group;
	uint32_t directories;                      /* with files that have blocks in the group */
	struct report_sharer most[REPORT_SHARERS]; /* the directories with the most files there */
};

/* Writes of deleting files, see analyze/directories/unlink_cost.h. */
struct report_unlink {
	uint32_t batch_files; /* files in a transaction */

	/* Sums of all files, one directory after the other in the order of inode numbers. */
	uint64_t directories, files;
	uint64_t block_bitmaps, inode_bitmaps;
	uint64_t writes;
	uint64_t shared_bitmaps; /* block bitmaps of more than one directory's files */

	struct report_unlink_directory *costly; /* the most writes first */
	size_t costly_count;
	struct report_shared_bitmap *shared; /* the most directories first */
	size_t shared_count;
};

/* The verdict; verdict_words() has the words. From VERDICT_FREE_SPACE on, something is wrong. */
enum verdict_kind {
	VERDICT_FINE,
	VERDICT_SPLIT,
	VERDICT_SPARSE,
	VERDICT_WASTE,
	VERDICT_FREE_SPACE,
	VERDICT_FILES,
	VERDICT_BOTH,
	VERDICT_INODES,
	VERDICT_UNKNOWN, /* parts are damaged or missing */
	VERDICT_KINDS,
};

struct report_verdict {
	enum verdict_kind kind;
	uint64_t free_limit_blocks; /* half of the free space should be in extents of at least this size; 0: too
	                             * little is free */
	double score;               /* e4defrag's; the kind does not depend on it */
	enum score_band band;
	const char *advice[10]; /* whole sentences, literals */
	unsigned int advice_count;
};

#define REPORT_MAP_FILES 5

/* A file's extents in one part of the filesystem. */
struct report_map_file {
	const char *path; /* NULL: nothing names it */
	uint32_t ino;
	uint64_t extents; /* 0: the entry is unused */
	uint64_t blocks;
};

/* A part of the filesystem: some groups. */
struct report_map_cell {
	struct report_map_file most[REPORT_MAP_FILES]; /* the most extents first */
};

/* What would become of it. Counts of files that are mended leave out sparse ones: nothing can be done about them. */
struct report_outlook {
	/* The score if the worst files that the report names, or all scattered ones, were in as few runs as is ideal.
	 */
	uint64_t worst_files, scattered_files;
	double worst_score, scattered_score;

	/* The free space if files of about asked_blocks were deleted, see analyze/read/deletion.h. */
	uint64_t asked_blocks; /* 0: not asked for */
	uint64_t deleted_files, deleted_blocks;
	struct report_free free; /* sizes, largest_start, largest_allocatable */
};

/* Returns 0 if whole is 0. */
static inline double report_ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static inline double report_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* The parts that were left out because of analyze_options.quick_seconds. */
struct report_quick {
	unsigned int seconds; /* 0: no limit, and nothing else is set */
	uint64_t most_bytes, read_bytes;
	uint64_t groups;                /* groups whose free space was not read */
	uint64_t inodes, inodes_in_use; /* inodes not read, and all in use; no directory was read */
	uint64_t files;                 /* files whose extents were read in part or not at all */
};

struct report {
	struct report_filesystem filesystem;
	bool has_free, has_files; /* which parts were read */
	struct report_free free;
	struct report_files files;
	struct report_directories directories;
	struct worst_files worst;              /* sorted */
	struct largest_inodes preallocated;    /* files, by their unwritten blocks */
	struct largest_inodes nearly_empty;    /* directories */
	struct report_directory *by_directory; /* NULL unless asked for */
	size_t by_directory_count;
	struct report_unlink *unlink;      /* NULL unless asked for */
	struct report_map_cell *map_cells; /* NULL unless asked for */
	uint32_t map_cell_count;
	struct report_outlook *outlook;       /* NULL unless asked for */
	const struct delta *delta;            /* against an older image; the caller's; NULL unless asked for */
	const struct report_history *history; /* the caller's; NULL unless asked for */
	struct report_verdict verdict;
	double seconds; /* time of the analysis */
	struct report_quick quick;
	struct damage_list damage;
	struct arena arena; /* of the paths */
};

void report_destroy(struct report *report);

/* How many groups are in a cell of a map that has at most so many cells. */
static inline uint32_t report_map_groups(const struct report_filesystem *filesystem, uint32_t most_cells)
{
	return filesystem->groups / most_cells + !!(filesystem->groups % most_cells);
}

/* Adds a file that may be among the worst and has more runs than is ideal. Logarithmic on average. ENOMEM. */
MUST_CHECK errcode_t worst_add(struct worst_files *worst, const struct report_file *file);

/* Sorts the worst file first, and drops files beyond the limit. */
void worst_sort(struct worst_files *worst);

/* Adds an inode that may be among the largest. */
void largest_add(struct largest_inodes *largest, uint32_t ino, uint64_t blocks, uint64_t names);
void largest_merge(struct largest_inodes *to, const struct largest_inodes *from);

/* Returns a listener that adds damage to the list. One thread at a time. */
struct damage_listener damage_list_listener(struct damage_list *list);

void damage_add(struct damage_list *list, uint32_t ino, uint64_t block, const char *what);
void damage_add_group(struct damage_list *list, uint32_t group, const char *what);
void damage_merge(struct damage_list *to, const struct damage_list *from);
