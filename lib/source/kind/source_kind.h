/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of a kind of source: recognising it by its name, and reading it into a tree. A kind is a file that
 * defines one struct source_kind, declared below, and a row of the table in source/sources.c. No other code lists
 * them; the help of -d (misc/e2populate_rows.c) and misc/e2populate.8 name them. It lies in the room whose subject
 * it is, or in a new one between host and manifest in tests/house/direction/order. If paths come in any order,
 * tree_builder.h makes the tree. A file is opened by source_file_open(), which knows standard input, pipes and the
 * image itself.
 */
#pragma once

#include <nettle/sha2.h>
#include <string.h>
#include <sys/stat.h>

#include "tree/source_limits.h"
#include "tree/exclude.h"
#include "tree/tree.h"
#include "support/io/file_version.h"
#include "support/problem.h"
#include "support/run/pool.h"
#include "support/run/progress.h"

struct archive_kind;
struct directory_links;
struct image_configuration;
struct layer_cache;
struct links_below;
struct run_files;
struct unpacked_budget;
struct window_budget;

/* The files and devices that a program writes. A source may hold one, or be one. */
enum scan_output {
	SCAN_IMAGE,
	SCAN_HASH_TREE, /* dm-verity's, in a file of its own */
	SCAN_ROOT_HASH,
	SCAN_OUTPUTS, /* none of them */
};

/* As messages call them: "image". */
extern const char *const scan_output_names[SCAN_OUTPUTS];

/* What is learnt of an archive while it is read. Zero-initialise. */
struct archive_facts {
	bool hashes_unpacked;       /* set by the caller: that is wanted: */
	struct sha256_ctx unpacked; /* of all bytes to which it unpacks, if it is packed */
	bool is_packed;
	bool left_out_whiteouts; /* has_oci_whiteouts made a difference */
	bool asked_host;         /* an ACL has names that were looked up among the accounts of this host */
};

/* Files that were unpacked, and are opened anew by way of these: they stay open until all sources have been scanned. */
struct held_descriptors {
	int *list; /* owned */
	size_t count, capacity;
};

struct scan_options {
	const struct stat *outputs[SCAN_OUTPUTS]; /* of files and devices; NULL: it is not there yet, or not wanted */
	bool *skipped; /* SCAN_OUTPUTS of them: a directory sets those that it has left out to true; may be NULL */
	const struct exclude *exclude; /* files left out, unread and unopened; may be NULL */
	struct pool *readers;          /* that read directories of the host; NULL: scan()'s pool does */
	bool one_file_system;          /* directories of other filesystems than the root's stay empty */
	bool needs_xattrs;             /* those of the host that cannot be read are an error, not a warning */
	bool without_xattrs;           /* leave them all out, unread */
	bool without_flags;            /* likewise file flags; a regular file's are read when it is copied */
	bool asks_for_holes;           /* of each file of the host, see source/host/data_segments.h */
	unsigned int strip_components; /* that names in archives and manifests lose, but not those of layers */
	bool asks_for_times;     /* those of a file beside mtime; a source that has them at hand may give them anyway */
	bool asks_for_projects;  /* of each file of the host, see source/host/projects.h */
	bool asks_for_unwritten; /* parts of an image's files that are preallocated, see struct tree_unwritten */
	bool takes_encrypted;    /* encrypted files of an image become nodes, as they are stored */
	struct warnings *left_out;     /* gets each file of an image that is damaged or encrypted, which the tree then
	                                  lacks;   NULL: the first one is the error */
	struct warnings *warnings;     /* gets one if xattrs could not be read; may be NULL */
	struct directory_links *links; /* counts what a merge makes of directories over symbolic links; may be NULL */
	bool has_oci_whiteouts;        /* an archive's .wh.NAME below a file is left out, not an error */
	struct links_below *below;     /* the tree is laid over others: gets what merging needs; NULL: it is not */
	const char *spool_directory;   /* for an archive's temporary file; NULL: /tmp */
	struct unpacked_budget *unpacked; /* how much that was unpacked stays in memory instead; NULL: nothing */
	struct window_budget *windows;    /* of zstd; NULL: each archive has as many as it wants */
	struct source_counts *counts;     /* of archives and manifests; NULL: nobody counts */
	unsigned int unpack_threads;      /* beside the caller's, for each archive; 0: none */
	struct archive_facts *facts;      /* to be learnt of an archive; NULL: nobody asks */
	struct layer_cache *layers;       /* archives and layers that are unpacked already; NULL: there are none */
	struct held_descriptors *held;    /* gets a container image's, if its archive is packed */
	const char *platform;             /* of container images: OS/ARCH[/VARIANT]; NULL: the host's */
	struct image_configuration *configuration; /* gets a container image's, of the last one; NULL: nobody asks */
	struct run_files *files; /* gets what is read (source/kind/run_files.h), and says what will be written; NULL */
	bool only_looks;         /* files is all that is wanted: nothing is unpacked, and the tree stays empty */
	struct progress *progress; /* may be NULL */
};

/* Which of the files that are being made is it? */
static inline enum scan_output scan_output_of(const struct scan_options *options, const struct stat *status)
{
	for (int output = 0; output < SCAN_OUTPUTS; output++) {
		const struct stat *of = options->outputs[output];

		if (of && S_ISREG(of->st_mode) && status->st_ino == of->st_ino && status->st_dev == of->st_dev)
			return (enum scan_output)output;
	}
	return SCAN_OUTPUTS;
}

#define SOURCE_DIGEST_DIGITS (2u * SHA256_DIGEST_SIZE)

/* A source before it is read, or a layer of one. */
struct source {
	const struct source_kind *kind;
	const char *path;                   /* borrowed; "-": standard input, unless it is a directory */
	const char *name;                   /* borrowed; what messages call it; NULL: its path */
	size_t file_bytes;                  /* of path, where "?" and an image's words follow; 0: all of it */
	const struct archive_kind *archive; /* of which kind, where it is an archive */
	bool is_part;                       /* it is a part of the file, which must be what it was: */
	uint64_t start_bytes;               /* it begins there, and has `bytes` */
	bool is_checked;                    /* its contents have been; it is opened anew, and must be what it was: */
	struct file_version version;
	/* A layer of which this is known; empty: not. The file has not been compared with it unless is_checked. */
	char digest[SOURCE_DIGEST_DIGITS + 1];  /* the sha256 of its file */
	const char *sha512;                     /* borrowed; that of its file, until it is checked; NULL: unknown */
	uint64_t bytes;                         /* how many that has, where a digest is known */
	char diff_id[SOURCE_DIGEST_DIGITS + 1]; /* the sha256 of what that unpacks to, else it is damaged */
	struct warnings warnings;               /* owned; what was not taken of it as it is, in the last scan() */
	/* scan() has failed, since it is an image of a disk and no archive; the caller closes: */
	bool is_disk;
	int disk_descriptor; /* what came through a pipe; -1: the file can be read anew */
};

/*
 * This is more layers than docker and containerd allow in an image. A layer that is not packed stays open until its
 * contents are copied; so does a pack, and layers beyond this number have none.
 */
#define SOURCE_MOST_OPEN_LAYERS 128

/* Takes a layer, whose path and name are borrowed. */
typedef errcode_t (*source_layer_taker)(void *context, const struct source *layer);

struct source_kind {
	/*
	 * Both may be NULL. takes_prefix(): the name begins with "PREFIX:", which is cut off source->path, and makes it
	 * one of this kind. takes_name(): a name without any such prefix does; asked in the table's order.
	 */
	bool (*takes_prefix)(struct source *source);
	bool (*takes_name)(struct source *source);

	/*
	 * Reads the source into an empty tree, which then is as tree/tree.h promises: its xattr sets are made by
	 * xattr_table.h, whether files have any or not. After a failure the caller destroys it. Errors name the source
	 * and, where one is concerned, the file within.
	 */
	errcode_t (*scan)(struct source *source, const struct scan_options *options, struct pool *pool,
	                  struct tree *tree, struct problem *problem);
	bool is_host;     /* its files are the host's, which is asked for some things only where they are wanted */
	bool names_files; /* adds what it reads to options->files itself; otherwise its file is all */
	bool scans_in_parallel; /* scan() shares its work out; several sources of other kinds are read side by side */

	/*
	 * An image's, instead of scan(): gives its layers, which have OCI's whiteouts, to take(), lowest first. With
	 * options->layers they are not checked yet, but their digests are known.
	 */
	errcode_t (*list_layers)(const struct source *image, const struct scan_options *options, struct pool *pool,
	                         source_layer_taker take, void *context, struct problem *problem);
};

extern const struct source_kind directory_source, manifest_source, archive_source, image_source, oci_image_source,
	oci_archive_source, docker_archive_source;

/* For takes_prefix(): cuts "PREFIX:" off, if the path begins with it. */
static inline bool source_cut_prefix(struct source *source, const char *prefix)
{
	size_t bytes = strlen(prefix);

	if (strncmp(source->path, prefix, bytes) || source->path[bytes] != ':')
		return false;
	source->path += bytes + 1;
	return true;
}

/* Can it be read but once, in order? */
bool source_is_pipe(const char *file);

/*
 * A member's name without so many leading components, of which "." is one, as tar's --strip-components has it. NULL:
 * nothing is left of it, and it is left out; but a directory of which just nothing is left is the root, ".".
 */
const char *source_strip_name(const char *name, unsigned int components, bool is_directory);

/* Records that no name has so many components that anything is left of it. EINVAL. */
errcode_t source_strip_problem(const char *source, unsigned int components, struct problem *problem);

/* As messages call the source. */
const char *source_file_name(const struct source *source);

/*
 * Opens the source as the first origin of an empty tree. EINVAL: it is what is being made; EBUSY: it is not what was
 * checked.
 */
MUST_CHECK errcode_t source_file_open(const struct source *source, const struct scan_options *options,
                                      struct tree *tree, struct problem *problem);
