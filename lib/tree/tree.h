/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree that an image is to hold, whatever it came from. It says nothing of ext4.
 *
 * Order: the children of a directory are a run of nodes sorted by name (bytes, unsigned), and a directory's
 * run is followed by the runs of its subdirectories, in order, each with all below it. So a node's number
 * depends only on the tree, never on the host's order of names.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "support/arena.h"
#include "support/problem.h"

struct contents;
struct tree_detail;

/* Bytes [start, start + length) of a file hold data; what no segment covers is a hole. */
struct tree_segment {
	uint64_t start_bytes;
	uint64_t length_bytes;
};

/* The data of a sparse file. */
struct tree_data_map {
	uint64_t contents; /* tree_contents() */
	uint32_t count;
	struct tree_segment segments[]; /* ascending, not touching */
};

struct tree_xattr {
	const char *name; /* whole, NUL-terminated */
	const void *value;
	uint32_t value_bytes;
};

/* The xattrs of a file; equal sets are stored once. */
struct tree_xattr_set {
	uint32_t count;
	uint32_t hash;
	const struct tree_xattr *list; /* sorted by name */
};

/* The origin of nodes. The nodes of a merged tree may have several origins. */
struct tree_origin {
	const struct contents *contents; /* how contents are read (tree/contents.h); NULL: there are none */
	void *data;                      /* what that needs; owned */
	char *path;                      /* of the source, for messages; owned */
	uint32_t source; /* which of those that were merged (source/sources.h); an archive may have two origins */
	/*
	 * Upper bounds of zeros in its files, if knows_zeros: aligned KiB that are zeros, and further KiB that may be
	 * a part of a longer run of zeros with a hole or the end of a file in it.
	 */
	uint64_t zero_pieces, zero_ends;
	bool knows_zeros;
	bool is_host; /* the host itself describes its files: it is to be asked for their flags, too */
};

#define TREE_ROOT 0u      /* the root directory's node */
#define TREE_NO_XATTRS 0u /* set 0 is the empty one */

struct tree_node {
	const char *name; /* name_bytes bytes, of which an encrypted one may hold any, then a NUL; "" for the root */
	uint8_t name_bytes;
	bool is_sparse : 1;    /* data_map is valid */
	bool is_implied : 1;   /* a directory that the source does not describe itself, only what lies below it: owner,
	                          mode and so on are made up, and those of another source that has it count */
	bool has_flags : 1;    /* flags are known; else those of a regular file of the host are still to be read, and
	                          any other file has none */
	bool has_lost_acl : 1; /* the source has an NFSv4 ACL, which ext4 cannot store */
	bool has_lost_xattr : 1; /* or an xattr that tree_xattr_is_kept() does not know */
	bool is_casefolded : 1;  /* a directory whose names the source compares without case */
	uint16_t mode;           /* type and permissions, S_IF* */
	uint32_t parent;         /* the root is its own */
	uint32_t first_child;    /* directories: children are nodes first_child .. first_child+child_count-1 */
	uint32_t child_count;
	uint32_t link_to; /* a hard link: the first node of the same file; any other node: itself */
	uint32_t links;   /* of the first node: names of this file in the tree; of other names: 0; directories: 2 +
	                     subdirectories */
	uint32_t uid, gid;
	uint32_t mtime_nanoseconds;
	uint32_t origin; /* a number in tree->origins */
	int64_t mtime_seconds;
	uint32_t flags;      /* see tree/file_flags.h */
	uint32_t xattrs;     /* a number in tree->xattr_sets */
	uint32_t detail;     /* a number in tree->details; 0: the file has none (tree/details.h) */
	uint64_t size_bytes; /* regular files: length; symlinks: length of the target */
	union {
		const char *target;             /* symlinks: size_bytes bytes, then a NUL */
		struct tree_data_map *data_map; /* sparse regular files */
		uint64_t contents;              /* other regular files: see tree_contents() */
		struct {
			uint32_t major, minor;
		} device; /* character and block devices */
	};
};

struct tree {
	struct tree_node *nodes; /* [0] is the root */
	uint32_t node_count;
	struct tree_xattr_set *xattr_sets; /* [0] is the empty set */
	uint32_t xattr_set_count;
	struct tree_detail *details; /* [0] is that of files that have none; NULL: no file has any */
	size_t detail_count, detail_capacity;
	struct arena memory;         /* names, targets, maps, xattrs */
	struct tree_origin *origins; /* [0] is the source that was asked for */
	uint32_t origin_count;
};

void tree_destroy(struct tree *tree);

/*
 * A further origin; path is copied, data become the tree's (also after a failure). Gives its number in tree->origins.
 * ENOMEM.
 */
MUST_CHECK errcode_t tree_add_origin(struct tree *tree, const struct contents *contents, void *data, const char *path,
                                     uint32_t *number);

/* The id of a regular file's contents, which only its origin interprets. */
static inline uint64_t tree_contents(const struct tree_node *node)
{
	return node->is_sparse ? node->data_map->contents : node->contents;
}

static inline bool tree_node_is_link(const struct tree *tree, uint32_t node)
{
	return tree->nodes[node].link_to != node;
}

/* Is an xattr of this name one that a tree has: user.*, trusted.*, security.* and POSIX ACLs? */
bool tree_xattr_is_kept(const char *name);

/* Names are ordered by their bytes, unsigned, and a beginning before what goes on. As memcmp(3). */
static inline int tree_name_compare(const char *one, size_t one_bytes, const char *other, size_t other_bytes)
{
	int order = memcmp(one, other, one_bytes < other_bytes ? one_bytes : other_bytes);

	return order ? order : one_bytes < other_bytes ? -1 : one_bytes > other_bytes;
}

/* Two struct tree_xattr by name, for qsort(3). */
int tree_xattr_compare(const void *one, const void *other);

/* The entry of a directory with this name, which need not end in a NUL; TREE_ROOT: the directory has none. */
uint32_t tree_find(const struct tree *tree, uint32_t directory, const char *name, size_t bytes);

/* The same among the siblings [start, end), and the first of them that is at or after this name; end: none is. */
uint32_t tree_find_among(const struct tree *tree, uint32_t start, uint32_t end, const char *name, size_t bytes);
uint32_t tree_first_from(const struct tree *tree, uint32_t start, uint32_t end, const char *name, size_t bytes);

/* The node at a path from the root, which "" is; slashes before and after it are allowed. False: nothing is there. */
bool tree_find_path(const struct tree *tree, const char *path, uint32_t *node);

static inline void tree_set_contents(struct tree_node *node, uint64_t contents)
{
	*(node->is_sparse ? &node->data_map->contents : &node->contents) = contents;
}

/*
 * Lets a regular file, the first of its names, be read wherever it comes to lie: its contents may have been found by
 * its place in the tree. ENOMEM.
 */
MUST_CHECK errcode_t tree_fix_contents(struct tree *tree, uint32_t node);

/* Whole paths for messages, of directories that know only their name and their parent. */
#define ASCEND_ROOT 0u

/* One step up: the directory's own name, and the number of the one that it is in. */
struct ascent {
	const char *name;
	uint32_t name_bytes;
	uint32_t parent;
};

typedef struct ascent (*ascend_step)(const void *tree, uint32_t directory);

/*
 * root_path, then the names from the root down to `number`, then name if it is not NULL. The caller frees it;
 * NULL: no memory.
 */
char *path_text(const char *root_path, ascend_step step, const void *tree, uint32_t number, const char *name);

/* One step up from a node of a struct tree. */
struct ascent tree_ascend(const void *tree, uint32_t node);

/*
 * The node's whole path as messages show it, beginning with its origin's: "directory/name", "archive: name". The
 * caller frees it; NULL: no memory.
 */
char *tree_path(const struct tree *tree, uint32_t node);

/*
 * As much of a path as messages show, which an archive's author may have made long: without the middle. The caller
 * frees it; NULL: no memory.
 */
char *path_shown(const char *path);

/* A path that begins in a directory unless it is absolute. The caller frees it; NULL: no memory. */
char *path_from(const char *directory, const char *path);
