/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sources of any kind become one tree. The kinds are listed in source/sources.c. */
#pragma once

#include "source/layers/merge.h"
#include "source/kind/source_kind.h"

/* What sources are laid over although it is no source: hard links of archives may lead to its files. */
struct source_base {
	/*
	 * Makes a tree of the files that these paths lead to, each with its tree_detail.inode_number. What is not
	 * there, and directories, are left out.
	 */
	errcode_t (*find)(void *context, const char *const *paths, size_t count, struct pool *pool, struct tree **ret,
	                  struct problem *problem);
	void *context;
	const struct lower_files *files; /* all of it, for symbolic links to its directories; NULL: none is followed */
};

/* How sources are laid over each other. */
struct source_layering {
	const struct source_base *base; /* NULL: nothing */
	enum whiteout_form whiteouts;   /* of directories and archives; the layers of OCI images have their own */
	enum whiteout_keeping keeping;  /* see source/layers/merge.h */
	bool follows_links;             /* likewise */
	unsigned int strip_components;  /* see source/kind/source_kind.h */
};

/*
 * Reads count sources (at least one) and merges them in this order; an OCI image counts as its layers. Reads
 * consecutive archives and manifests in parallel, as many at a time as the pool has workers, which limits the memory
 * for unpacking. tree->origins[].source numbers the merged sources from 0. The problem names the source and, if there
 * is one, the file in it.
 */
MUST_CHECK errcode_t sources_scan(const char *const *sources, uint32_t count, const struct source_layering *layering,
                                  const struct scan_options *options, struct pool *pool, struct tree **ret,
                                  struct problem *problem);

/*
 * Adds to options->files all that sources_scan() would read of them, without unpacking: folders are scanned, manifests
 * and the documents of container images are read, and of all else the file is examined. Errors as above.
 */
MUST_CHECK errcode_t sources_look_at(const char *const *sources, uint32_t count, const struct source_layering *layering,
                                     const struct scan_options *options, struct pool *pool, struct problem *problem);

/* Adds the sum of one folder, as that of a source. */
MUST_CHECK errcode_t sources_look_at_folder(const char *role, const char *path, struct run_files *files,
                                            struct pool *pool, struct problem *problem);

/*
 * The source that a name says, never its bytes: otherwise the author of an archive could make it a manifest, whose
 * lines name files of this host. KIND:NAME is one of that kind (manual page e2populate(8)); else an OCI image if a
 * directory of that name has a layout's files; else a directory if there is one, or nothing; else a manifest if the
 * file's name ends in .mtree, and how it is packed; else an image of ext2, ext3 or ext4 if the file, unpacked perhaps,
 * begins with one and not with an archive, which is the one thing that bytes decide (an image names no files of this
 * host either); else a common archive, "-" one on standard input. What comes through a pipe as such an archive may turn
 * out to be an image when it is scanned.
 */
struct source source_of(const char *name);

/*
 * The size of the filesystem in the first source that is an image of ext2, ext3 or ext4. ENOENT: no source is one.
 * Errors of reading the image, which may unpack to most_unpacked_bytes (0: no limit).
 */
MUST_CHECK errcode_t sources_image_bytes(const char *const *sources, uint32_t count, uint64_t most_unpacked_bytes,
                                         uint64_t *bytes, struct problem *problem);

/* Does the name say that the source is standard input, or KIND: and no file? */
bool source_is_standard_input(const char *name);
bool source_names_nothing(const char *name);

/* Does any of them read the host's own files? */
bool sources_have_host(const char *const *sources, uint32_t count);

/*
 * Reads a source that is not an image of layers. The tree is as tree/tree.h promises; contents are read through
 * tree/contents.h while the tree lasts. Errors name what could not be read.
 */
MUST_CHECK errcode_t source_scan(struct source *source, const struct scan_options *options, struct pool *pool,
                                 struct tree **ret, struct problem *problem);
