/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inside of image_source. An image is read in the order in which it lies on its disk, not in that of its names:
 * first all inode tables, each inode with its xattrs and its map (image_inodes.c); then all directories, in the order
 * of their blocks (image_directories.c). Then the names become a tree, beginning at the root (image_tree.c). What is
 * damaged is noted with its inode, and is a failure where a name leads to it: only then is its path known, and files
 * that are left out may be damaged.
 */
#pragma once

#include <pthread.h>
#include <stdalign.h>

#include "image/directory_walk.h"
#include "image/inode.h"
#include "image/xattrs.h"
#include "source/image/image_contents.h"
#include "source/kind/source_kind.h"
#include "tree/xattr_table.h"

/* Why a name cannot lead to an inode. */
enum image_refusal {
	IMAGE_TAKEN,
	IMAGE_DAMAGED,        /* a struct image_note says how */
	IMAGE_ENCRYPTED,      /* and not to be carried as it is */
	IMAGE_UNKNOWN_POLICY, /* it is encrypted, and nobody knows what that depends on */
	IMAGE_NO_USERS,       /* it holds a value of an xattr */
	IMAGE_UNKNOWN_TYPE,   /* neither a file nor a directory nor anything else that there is */
};

/* An inode that is in use. */
struct image_inode {
	uint32_t ino;
	uint32_t directory;         /* of a directory: its number in scan->directories */
	uint32_t first_node, links; /* of other files: the first of their names, and how many there are; atomic */
	enum image_refusal refusal;
	uint32_t flags;        /* as on disk */
	uint32_t policy;       /* of an encrypted one: a hash of how; 0: it has no valid context */
	bool keeps_number;     /* an encrypted one depends on its number */
	struct tree_node node; /* what it is without its name; xattrs: a number of the xattr_table */
};

/* The first damage of an inode that was met. */
struct image_note {
	uint32_t ino;
	uint32_t order; /* of a worker's notes */
	uint64_t block; /* 0: none is concerned */
	const char *what;
};

/* Some neighbours in an inode table, and those of them that are in use. */
struct image_piece {
	uint32_t first_ino;
	uint32_t block_count;
	uint64_t block;
	struct image_inode *inodes; /* ascending */
	uint32_t count;
};

struct image_entry {
	const char *name;
	struct image_inode *inode; /* NULL: it is not in use */
	uint32_t ino;
	uint8_t name_bytes;
	bool is_directory;
};

struct image_directory {
	struct image_inode *inode;
	const uint8_t *raw;          /* the inode's bytes */
	bool is_partial;             /* a block of it is damaged, and the names of the others are here */
	uint64_t first_block;        /* by which directories are ordered while they are read */
	struct image_entry *entries; /* sorted by name */
	uint32_t count;
	uint32_t subdirectory_count;
	/* From here on set when the tree is made. */
	const char *name; /* its own */
	uint8_t name_bytes;
	bool is_reached;
	uint32_t parent; /* number in scan->directories; the root is 0 and its own */
	uint32_t own_node, first_node;
};

/* A count of the tree's files, and the first one. */
struct image_count {
	uint64_t count;
	uint32_t node;
};

struct image_worker {
	alignas(128) struct directory_walker walker;
	bool is_open; /* the walker */
	struct damage_listener damage;
	struct image_note met;    /* of the inode that is being read; what: NULL: nothing is damaged */
	struct image_note *notes; /* of all inodes */
	size_t note_count, note_capacity;
	struct arena memory;  /* becomes the tree's */
	struct arena scratch; /* as long as the scan */
	struct image_inode **directories;
	size_t directory_count, directory_capacity;
	const uint8_t **raws; /* of the same numbers */
	size_t raw_capacity;

	uint8_t *table; /* IMAGE_PIECE_BYTES */
	struct volume_xattrs xattrs;
	struct tree_xattr *list;
	size_t list_capacity;
	struct xattr_table_memory last_set;
	struct map_record *records;
	size_t record_count, record_capacity;
	struct tree_segment *segments;
	size_t segment_count, segment_capacity;
	struct tree_segment *unwritten; /* of the inode that is being read */
	size_t unwritten_count, unwritten_capacity;
	uint64_t *blocks; /* that are to be expected */
	size_t block_count, block_capacity;
	struct image_entry *entries;
	size_t entry_count, entry_capacity;
	errcode_t error; /* within a callback */

	struct image_count verity; /* that the tree has */
	bool met_encrypted;
};

#define IMAGE_PIECE_BYTES ((size_t)256 << 10)

struct image_scan {
	struct tree *tree; /* to be filled */
	const char *name;  /* of the image, for messages */
	const struct volume *volume;
	const struct scan_options *options;
	struct pool *pool, *readers;
	struct image_worker *workers; /* one for each of the readers */
	unsigned int worker_count;
	struct xattr_table *xattr_table;
	struct image_piece *pieces; /* ascending */
	size_t piece_count;
	struct image_note *notes; /* all of them, by ino, once inodes or directories have been read */
	size_t note_count;
	struct image_directory *directories; /* by ino; [0] is the root */
	uint32_t directory_count;
	uint32_t *order;                                   /* numbers of directories, by their blocks */
	pthread_mutex_t detail_lock;                       /* of tree->details */
	uint64_t blocks_of_maps[2], blocks_of_directories; /* read so far: for inodes, for directories */
};

/* Reads all inode tables, and what inodes need to become nodes. */
MUST_CHECK errcode_t image_read_inodes(struct image_scan *scan, struct problem *problem);

/* Reads all directories. */
MUST_CHECK errcode_t image_read_directories(struct image_scan *scan, struct problem *problem);

/* Makes the tree. */
MUST_CHECK errcode_t image_make_tree(struct image_scan *scan, struct problem *problem);

static inline bool image_is_encrypted(const struct image_inode *inode)
{
	return inode->node.is_encrypted;
}

/*
 * Reads the context of an encrypted inode: its policy, or a refusal; policy stays 0 if the context is damaged. In
 * image_encryption.c, as what follows.
 */
void image_read_policy(struct image_inode *inode, const uint8_t *context, uint32_t bytes);

/*
 * Notes whether the inode is encrypted, and what is wrong with that; false: it is, and is not to be carried. Its
 * context has not been read yet.
 */
bool image_take_encryption(const struct image_scan *scan, struct image_worker *worker, struct image_inode *inode);

/* Is it the target of an encrypted symlink: a length, and so many bytes, of which Linux can open what they decrypt to?
 */
bool image_is_encrypted_target(const char *target, size_t bytes);

/* Why an inode, which is in use and not refused, cannot have this name, as encryption is concerned; NULL: it can. */
const char *image_entry_misfit(const struct image_scan *scan, uint32_t directory, const struct image_entry *entry);

/* The inode if it is in use; else NULL. */
struct image_inode *image_find_inode(const struct image_scan *scan, uint32_t ino);

/* Returns the inode's damage; NULL: none is known. */
const struct image_note *image_find_note(const struct image_scan *scan, uint32_t ino);

/* The worker, ready to walk; maps: which of the counters of blocks it uses. ENOMEM. */
MUST_CHECK errcode_t image_open_worker(struct image_scan *scan, unsigned int number, unsigned int maps,
                                       struct image_worker **worker);

/* Begins an inode, to which what is damaged from now on belongs; says whether anything was, and notes it. ENOMEM. */
void image_begin_inode(struct image_worker *worker, uint32_t ino);
MUST_CHECK errcode_t image_end_inode(struct image_worker *worker, bool *is_damaged);

/* The notes of all workers become those of the scan. ENOMEM. */
MUST_CHECK errcode_t image_gather_notes(struct image_scan *scan);

/* Tells the system of blocks that will be read soon, in their order; they are given up. */
void image_expect(const struct volume *volume, struct image_worker *worker);
MUST_CHECK errcode_t image_add_expected(struct image_worker *worker, uint64_t block);

/* Reports the failure of a limit, or another one. */
errcode_t image_failure(const struct image_scan *scan, errcode_t error, struct problem *problem);
