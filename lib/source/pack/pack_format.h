/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pack: the file that holds one layer, unpacked. Numbers are little-endian.
 *
 *   header     PACK_BLOCK_BYTES, of which struct pack_header is used
 *   contents   of regular files, in the order of the tree's nodes; each file begins at a multiple of PACK_BLOCK_BYTES,
 *              and zeros follow it up to the next one. Blocks of a sparse file without data are left out.
 *   index      struct pack_counts, and lists of as many items as that says, one directly after the other
 *
 * Nothing in a pack says where something is if that follows from what comes before it: places of contents follow from
 * sizes and maps (pack_places.h), children of a directory from the counts of those before it. So there is little to
 * check, and no two files can have the same bytes.
 *
 * The index is read into memory as a whole and stays there: names, targets and values of xattrs of the tree point into
 * it. It is not mapped with mmap(2). Its checksum needs every byte of it anyway, an error of reading would be a signal
 * (SIGBUS), and what has been checked could change. Reading 30 000 files' index, 3 MiB, takes half a millisecond.
 */
#pragma once

#include <stdint.h>

#define PACK_MAGIC "e2mbpack"

/*
 * Raise it, and that in PACK_SUFFIX of source/pack/cache_files.h, if the format changes, or if archives are read in
 * another way than before: a pack of another version is made anew.
 */
#define PACK_VERSION 2u

#define PACK_BLOCK_BYTES 4096u
#define PACK_NAME_BYTES 96u /* of the pack's name in its cache, filled with NULs */

/* Contents have a checksum for each slice of so many bytes. */
#define PACK_SLICE_BYTES (UINT64_C(1) << 20)

struct pack_header {
	uint8_t magic[8];
	uint32_t version;
	uint32_t index_checksum; /* crc32c of the index */
	uint64_t contents_bytes; /* a multiple of PACK_BLOCK_BYTES; the index follows */
	uint64_t index_bytes;    /* up to the end of the file */
	uint8_t name[PACK_NAME_BYTES];
	uint64_t mtime_seconds; /* of the file, when it was whole: with another one it has been written since */
	uint32_t mtime_nanoseconds;
	uint32_t checksum; /* of the members before this one */
};

#define PACK_KNOWS_ZEROS 1u        /* tree_origin.knows_zeros */
#define PACK_HAD_LINKS_BELOW 8u    /* there were such links, though other files may have their names now */
#define PACK_LEFT_OUT_WHITEOUTS 4u /* only with scan_options.has_oci_whiteouts the archive gives this */
#define PACK_HAS_ORDER 2u          /* of names, in a layer that has hard links to files of layers below */

struct pack_counts {
	uint32_t nodes;
	uint32_t xattr_sets; /* without the empty one */
	uint32_t xattrs;     /* of all sets */
	uint32_t details;    /* without that of the defaults */
	uint32_t maps;
	uint32_t segments; /* of all maps */
	uint32_t links_below;
	uint32_t marks; /* of the above */
	uint64_t string_bytes;
	uint64_t zero_pieces, zero_ends;                            /* as those of struct tree_origin */
	uint64_t names, metadata_bytes, unpacked_bytes, path_bytes; /* as counted when it was made: source_limits.h */
};

/* The lists, in their order; the strings come last, string_bytes of them. */

#define PACK_NODE_SPARSE 1u  /* a regular file: the next map is its own */
#define PACK_NODE_IMPLIED 2u /* as those of struct tree_node */
#define PACK_NODE_FLAGS 4u
#define PACK_NODE_LOST_ACL 8u
#define PACK_NODE_LOST_XATTR 16u
#define PACK_NODE_BELOW 32u /* the next of links_below; of the other members only the name counts */

struct pack_node {
	uint32_t name; /* where it begins among the strings; a NUL follows */
	uint8_t name_bytes;
	uint8_t marks;
	uint16_t mode;
	uint32_t relation; /* a directory: how many children it has; else the first node of the same file */
	uint32_t uid, gid;
	uint32_t mtime_nanoseconds;
	uint32_t flags;
	uint32_t xattrs; /* a set, from 1 on; 0: none */
	uint32_t detail; /* likewise */
	uint32_t unused;
	uint64_t mtime_seconds;
	uint64_t size_bytes; /* regular files, symlinks */
	uint64_t value;      /* symlinks: where the target begins among the strings; devices: major << 32 | minor */
};

#define PACK_TIMES 3u /* access, inode change, creation */

struct pack_detail {
	uint64_t seconds[PACK_TIMES];
	uint32_t nanoseconds[PACK_TIMES];
	uint32_t known; /* a bit for each time */
};

struct pack_segment {
	uint64_t start_bytes, length_bytes;
};

struct pack_xattr {
	uint32_t name;  /* among the strings; a NUL follows */
	uint32_t value; /* likewise */
	uint32_t value_bytes;
};

struct pack_link {
	uint32_t target; /* among the strings; a NUL follows */
	uint32_t order;
};

/* After the links: */
/* uint32_t set_counts[xattr_sets]: how many xattrs each set has */
/* uint32_t map_counts[maps]: how many segments each map has */
/* uint32_t order[nodes], with PACK_HAS_ORDER: how many names came before each node's */
/* uint32_t checksums[slices of contents]: crc32c of each */
