/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree of files, from any source, for an image or another destination. It knows nothing about ext4.
 *
 * Order: the children of a directory are a run of nodes sorted by name (bytes, unsigned), and a directory's run is
 * followed by the runs of its subdirectories, in order, each with everything below it. So node numbers depend only on
 * the tree, never on the host's order of names.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "support/arena.h"
#include "support/problem.h"

struct contents;
struct tree_detail;

/* Bytes [start, start + length) of a file hold data; bytes outside all segments are holes. */
struct tree_segment {
	uint64_t start_bytes;
	uint64_t length_bytes;
};

/* The data of a sparse file. */
struct tree_data_map {
	uint64_t contents; /* tree_contents() */
	uint32_t count;
	struct tree_segment segments[]; /* ascending, never adjacent */
};

#define TREE_LABEL_XATTR "security.selinux" /* the label that SELinux gives to a file */

struct tree_xattr {
	const char *name; /* with its prefix ("user."), NUL-terminated */
	const void *value;
	uint32_t value_bytes;
};

/* The xattrs of a file; equal sets are stored once. */
struct tree_xattr_set {
	uint32_t count;
	uint32_t hash;
	const struct tree_xattr *list; /* sorted by name */
};

/*
 * Encrypted files of an origin are carried as they are stored, without their key: names, targets of symlinks and
 * contents are ciphertext, and contents are whole blocks. They depend on these values.
 */
struct tree_encryption {
	uint32_t block_bytes;      /* to which contents are filled up */
	uint8_t filesystem_id[16]; /* the UUID, for files that are to keep their inode numbers (tree/details.h) */
	uint8_t salt[16];          /* with which some tools make keys of passphrases */
};

/* The origin of nodes. The nodes of a merged tree may have several origins. */
struct tree_origin {
	const struct contents *contents; /* the operations that read contents (tree/contents.h); NULL: there are none */
	void *data;                      /* the operations' own data; owned */
	char *path;                      /* the source's path, for messages; owned */
	uint32_t source; /* the index of the merged source (source/sources.h); an archive may have two origins */
	/*
	 * If knows_zeros, upper bounds for zeros in its files: aligned KiB of zeros, and further KiB that may belong to
	 * a longer run of zeros that contains a hole or the file's end.
	 */
	uint64_t zero_pieces, zero_ends;
	bool knows_zeros;
	bool is_host; /* the files are the host's own: the host is asked for their flags, too */
	const struct tree_encryption *encryption; /* in the tree's memory; NULL: no file is encrypted */
};

#define TREE_ROOT 0u      /* the root directory's node */
#define TREE_NO_XATTRS 0u /* the empty set */

struct tree_node {
	const char *name; /* name_bytes bytes and a NUL; encrypted names may hold any bytes; "" for the root */
	uint8_t name_bytes;
	bool is_sparse : 1; /* data_map is valid */
	/*
	 * a directory that the source does not describe, only files below it: owner, mode and so on are defaults, which
	 * another source's values override
	 */
	bool is_implied : 1;
	/*
	 * flags are known; if not, a host's regular file has flags that are not read yet, and any other file has none
	 */
	bool has_flags : 1;
	bool has_lost_acl : 1;   /* the source has an NFSv4 ACL, which ext4 cannot store */
	bool has_lost_xattr : 1; /* the source has an xattr that tree_xattr_is_kept() refuses */
	bool is_casefolded : 1;  /* a directory whose names the source compares without case */
	/*
	 * What the file holds is ciphertext, see struct tree_encryption; also the names in a directory. A directory
	 * that is casefolded, too, has TREE_STORED_HASH_BYTES of its own after the NUL of each name in it.
	 */
	bool is_encrypted : 1;
	/*
	 * A tree that is laid over something else, which is not in it (source/layers/merge.h): a directory that hides
	 * all that lies in it there; of another node, see tree_node_is_whiteout().
	 */
	bool is_opaque : 1;
	uint16_t mode;        /* type and permissions, S_IF* */
	uint32_t parent;      /* the root's parent is the root */
	uint32_t first_child; /* directories: children are nodes first_child .. first_child+child_count-1 */
	uint32_t child_count;
	uint32_t link_to; /* a hard link: the first node of the same file; any other node: itself */
	/*
	 * link count: in a file's first node, its names in the tree; in nodes of other names, 0; directories: 2 +
	 * subdirectories
	 */
	uint32_t links;
	uint32_t uid, gid;
	uint32_t mtime_nanoseconds;
	uint32_t origin; /* a number in tree->origins */
	int64_t mtime_seconds;
	uint32_t flags;          /* see tree/file_flags.h */
	uint32_t xattrs;         /* a number in tree->xattr_sets */
	uint32_t detail;         /* a number in tree->details; 0: the file has none (tree/details.h) */
	bool has_only_whiteouts; /* an implied directory of a layer: it is not made, and replaces nothing */
	uint64_t size_bytes;     /* regular files: length; symlinks: length of the target */
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
	struct tree_detail *details; /* [0] holds the defaults; NULL: no file has details */
	size_t detail_count, detail_capacity;
	struct arena memory;         /* names, targets, maps, xattrs */
	struct tree_origin *origins; /* [0] is the source that the user named */
	uint32_t origin_count;
};

void tree_destroy(struct tree *tree);

/*
 * Adds an origin. Copies path; the tree owns data from then on, even after a failure. *number: the index in
 * tree->origins. ENOMEM.
 */
MUST_CHECK errcode_t tree_add_origin(struct tree *tree, const struct contents *contents, void *data, const char *path,
                                     uint32_t *number);

#define TREE_STORED_HASH_BYTES 8

/* The hashes of a node's name, as they are stored; its directory is encrypted and casefolded. */
static inline const void *tree_stored_hashes(const struct tree_node *node)
{
	return node->name + node->name_bytes + 1;
}

/* How many bytes of a regular file its origin has: its size, but of an encrypted one whole blocks. */
static inline uint64_t tree_stored_bytes(const struct tree *tree, const struct tree_node *node)
{
	const struct tree_encryption *encryption = tree->origins[node->origin].encryption;

	return node->is_encrypted && encryption ?
	               (node->size_bytes + encryption->block_bytes - 1) & ~(uint64_t)(encryption->block_bytes - 1) :
	               node->size_bytes;
}

/* The id of a regular file's contents, which only its origin interprets. */
static inline uint64_t tree_contents(const struct tree_node *node)
{
	return node->is_sparse ? node->data_map->contents : node->contents;
}

/* It is not a file, but removes what has its name in what the tree is laid over; a device without number. */
static inline bool tree_node_is_whiteout(const struct tree_node *node)
{
	return node->is_opaque && (node->mode & S_IFMT) != S_IFDIR;
}

static inline bool tree_node_is_link(const struct tree *tree, uint32_t node)
{
	return tree->nodes[node].link_to != node;
}

/* Does a tree keep xattrs of this name? It keeps user.*, trusted.*, security.* and POSIX ACLs. */
bool tree_xattr_is_kept(const char *name);

/* Compares names by their bytes, unsigned; a prefix sorts before longer names. Returns what memcmp(3) returns. */
static inline int tree_name_compare(const char *one, size_t one_bytes, const char *other, size_t other_bytes)
{
	int order = memcmp(one, other, one_bytes < other_bytes ? one_bytes : other_bytes);

	return order ? order : one_bytes < other_bytes ? -1 : one_bytes > other_bytes;
}

/* Compares two struct tree_xattr by name, for qsort(3). */
int tree_xattr_compare(const void *one, const void *other);

/* Returns the entry of a directory by name; TREE_ROOT: there is none. The name needs no NUL. */
uint32_t tree_find(const struct tree *tree, uint32_t directory, const char *name, size_t bytes);

/*
 * The same among the siblings [start, end); and the first sibling whose name is this name or sorts after it, end if
 * there is none.
 */
uint32_t tree_find_among(const struct tree *tree, uint32_t start, uint32_t end, const char *name, size_t bytes);
uint32_t tree_first_from(const struct tree *tree, uint32_t start, uint32_t end, const char *name, size_t bytes);

/*
 * Finds the node at a path from the root; "" is the root. Ignores slashes at both ends. False: there is no such node.
 */
bool tree_find_path(const struct tree *tree, const char *path, uint32_t *node);

static inline void tree_set_contents(struct tree_node *node, uint64_t contents)
{
	*(node->is_sparse ? &node->data_map->contents : &node->contents) = contents;
}

/*
 * Before a regular file is moved: makes its contents readable from anywhere, as its origin may find them by its place
 * in the tree. node: the file's first name. ENOMEM.
 */
MUST_CHECK errcode_t tree_fix_contents(struct tree *tree, uint32_t node);

/* Whole paths for messages, from directories that store only their name and their parent. */
#define ASCEND_ROOT 0u

/* One step up: the directory's own name and its parent's number. */
struct ascent {
	const char *name;
	uint32_t name_bytes;
	uint32_t parent;
};

typedef struct ascent (*ascend_step)(const void *tree, uint32_t directory);

/*
 * Joins root_path, the names from the root down to `number`, and name unless it is NULL. The caller frees it; NULL: no
 * memory.
 */
char *path_text(const char *root_path, ascend_step step, const void *tree, uint32_t number, const char *name);

/* Messages show this for each name that is encrypted. */
#define ENCRYPTED_NAME_TEXT "(encrypted)"

/* One step up from a node of a struct tree. Encrypted names are ENCRYPTED_NAME_TEXT. */
struct ascent tree_ascend(const void *tree, uint32_t node);

/*
 * Returns the node's whole path for messages, with its origin's path first: "directory/name", "archive: name". The
 * caller frees it; NULL: no memory.
 */
char *tree_path(const struct tree *tree, uint32_t node);

/*
 * Shortens a path for messages by leaving out its middle: an archive's author may have made it long. The caller frees
 * it; NULL: no memory.
 */
char *path_shown(const char *path);

/* Prefixes a path with a directory unless the path is absolute. The caller frees it; NULL: no memory. */
char *path_from(const char *directory, const char *path);
