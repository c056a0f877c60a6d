/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inside of directory_source. The host's tree is read level by level: all directories of a depth are
 * listed in parallel and their entries examined, which makes the directories of the next depth. So there is no
 * recursion, and no worker waits for another but for the names of a large directory (large_directory.h). When all is
 * read, the nodes are numbered.
 */
#pragma once

#include <pthread.h>
#include <stdalign.h>

#include "source/host/data_segments.h"
#include "source/host/host_verity.h"
#include "source/host/host_xattrs.h"
#include "source/host/open_below.h"
#include "source/host/output_folders.h"
#include "source/kind/folder_sum.h"
#include "source/kind/source_kind.h"
#include "tree/xattr_table.h"

/* Entries that a worker examines at a time. A directory with more is shared out among all of them. */
#define SCAN_CHUNK 128
/* The same of a slow directory, one whose names took so long to read: its entries are shared out however few they are.
 */
#define SCAN_SLOW_CHUNK 4
#define SCAN_SLOW_SECONDS 1e-3

/* A file before it becomes a node of the tree, which knows its relatives: parent, children and links are not set yet.
 */
struct scan_entry {
	struct tree_node node; /* xattrs: a number of the xattr_table; mode 0: not examined, or to be left out */
	union {
		struct {
			uint64_t inode, device; /* the host's */
		} directory;
		struct {
			uint32_t worker; /* 1 + the one in whose `linked` it is; 0: it has one name */
			uint32_t index;  /* there */
		} linked;
	};
};

struct scan_directory {
	struct scan_entry *entry;     /* its own: one of the parent's children, or the root's */
	struct scan_entry *children;  /* sorted by name */
	struct children_chunk *chunk; /* that holds them; NULL: there are none */
	uint32_t parent;              /* directory number; the root is its own */
	uint32_t child_count;
	uint32_t first_subdirectory; /* directory number; they are a run, in order */
	uint32_t subdirectory_count;
	uint32_t first_node; /* set when nodes are numbered: the tree's number of children[0], */
	uint32_t own_node;   /* and of the directory */
	uint64_t key;        /* in the sum of the folder */
	bool has_left_out;   /* an entry */
	bool is_slow;        /* to be read */
	bool is_examined;    /* by large_directory, while it was listed */
};

/*
 * Memory for the children of some directories. It goes back to the system when the last of them has been moved into the
 * tree, so that not all of it is there twice.
 */
struct children_chunk {
	size_t size_bytes, used_bytes;
	uint32_t users; /* directories, and the worker that goes on filling it; atomic */
};

/* One name of a file that has several. */
struct scan_linked {
	uint64_t device, inode;
	uint32_t type; /* S_IFMT bits: an inode number may have been used again while we scan */
	uint32_t node;
};

/* A name while its directory is being listed. */
struct scan_name {
	uint64_t prefix; /* its first eight bytes as a big-endian number: most comparisons end here */
	uint32_t start;  /* in listing */
	uint32_t bytes;
};

/* Xattrs that could not be read: how many, and the first file of them in the order of directories and names. */
struct scan_unread {
	uint64_t count;
	errcode_t error;
	uint32_t directory;
	const char *name; /* NULL: the root */
};

struct scan_worker {
	alignas(128) struct descender descender;
	struct arena memory;          /* becomes the tree's */
	struct children_chunk *chunk; /* in which there may be room; NULL: none */
	struct host_xattrs xattrs;
	struct xattr_table_memory last_set;
	struct scan_unread unread;
	struct folder_sum sum;  /* of the files that it has examined, with options->files */
	bool knows_bare_device; /* a device whose files have no xattrs */
	uint64_t bare_device;
	bool knows_device; /* whether the sizes of the files of the last device are made up */
	bool device_is_made_up;
	uint64_t device;
	uint64_t verity_device; /* the device of the last regular file, and whether it can have protected ones */
	enum host_verity_support verity_support;
	struct scan_linked *linked;
	size_t linked_count, linked_capacity;

	/* Scratch. */
	char *entries; /* twice SCAN_ENTRIES_BYTES, for getdents64() */
	char *listing; /* a directory's names */
	size_t listing_capacity;
	struct scan_name *names;
	size_t names_capacity;
	struct data_segments segments;
};

#define SCAN_ENTRIES_BYTES ((size_t)64 << 10)

struct scan {
	struct tree *tree; /* to be filled */
	const char *root_path;
	int root; /* descriptor */
	const struct scan_options *options;
	struct pool *readers;
	struct scan_worker *workers; /* one for each of them */
	unsigned int worker_count;
	struct xattr_table *xattr_table;
	pthread_mutex_t detail_lock;        /* of the tree's details, while directories are examined */
	bool has_found_large;               /* a directory; any worker sets it */
	struct large_directories *large;    /* of the level that is being listed; NULL: it has none */
	struct scan_directory *directories; /* by depth; [0] is the root */
	size_t directory_count, directory_capacity;
	struct scan_entry root_entry;
	struct output_folders outputs; /* with options->files */
};

/* How many entries of a directory are examined at a time; with no more it is examined as a whole when it is listed. */
static inline uint32_t scan_chunk(const struct scan_directory *directory)
{
	return directory->is_slow ? SCAN_SLOW_CHUNK : SCAN_CHUNK;
}

/*
 * Lists a directory and, if it is neither large nor slow, examines its entries too. With scan->large a large one's
 * names are handed on.
 */
MUST_CHECK errcode_t scan_list(struct scan *scan, unsigned int worker, uint32_t directory, struct problem *problem);

/* The path of a directory. The caller frees it; NULL: no memory. */
char *scan_path(const struct scan *scan, uint32_t directory);

/* Examines entries of an open directory; the first that fails ends it. */
MUST_CHECK errcode_t scan_examine(struct scan *scan, unsigned int worker, uint32_t directory, int descriptor,
                                  struct scan_entry *entries, uint32_t count, struct problem *problem);

/* Examines the root, which is open already. */
MUST_CHECK errcode_t scan_examine_root(struct scan *scan, struct problem *problem);

/* Adds what one worker could not read to what others could not; the first file is the same for any number of them. */
void scan_add_unread(struct scan_unread *all, const struct scan_unread *more);

/* Records a problem with an entry of a directory, or with the directory itself if name is NULL. */
errcode_t scan_problem(const struct scan *scan, uint32_t directory, const char *name, errcode_t error,
                       const char *action, struct problem *problem);

/* One step up from a directory, for the descenders. */
struct ascent scan_step(const void *scan, uint32_t directory);
