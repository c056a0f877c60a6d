/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inside of directory_output: a directory of the host, and where in it nodes are. Directories are opened by their
 * path from the top, in which the kernel follows no symlink and no ".." (source/host/open_below.h); all else is done
 * with a name in an open directory, which is a single component, and not followed either. So nothing outside can be
 * reached, whatever names and links of the tree, or other programs meanwhile, say.
 */
#pragma once

#include <stdalign.h>

#include "extract/tree_output.h"
#include "source/host/open_below.h"

/* A directory of the tree that is open. */
struct open_directory {
	uint32_t node;
	int descriptor; /* -1: none */
};

/* The last two are kept open: neighbours lie in one, and a hard link's file in another. */
#define OPEN_DIRECTORIES 2

struct place_worker {
	alignas(128) struct descender descender;
	struct open_directory open[OPEN_DIRECTORIES];
	unsigned int last; /* of these, the one that was used last */
	bool cannot_copy;  /* the kernel has refused to copy from file to file */
};

struct place {
	struct extraction *extraction;
	const char *path;   /* of the top, for messages */
	int root;           /* the top */
	bool is_new;        /* place_open() has made it, for nobody else so far */
	bool inherits_acls; /* a directory may have a default ACL already, which new files in it get */
	struct place_worker *workers;
};

/*
 * Opens the top, which is made if it is not there. ENOTEMPTY with a reason: it has files, and force is not given.
 */
MUST_CHECK errcode_t place_open(struct place *place, struct extraction *extraction, struct problem *problem);
void place_close(struct place *place);

/*
 * The open directory that a node is, or that it lies in; borrowed, until the worker's next call but one. ENOENT: it has
 * been left out, which the user knows. Errors of open(2), ENOMEM.
 */
MUST_CHECK errcode_t place_directory(struct place *place, unsigned int worker, uint32_t node, int *descriptor);
MUST_CHECK errcode_t place_parent(struct place *place, unsigned int worker, uint32_t node, int *descriptor);

/*
 * A node cannot be made, or not as it is: it is left out (0 is returned), if that has to do with it alone; else the
 * error is the run's, with a problem.
 */
MUST_CHECK errcode_t place_fail(struct place *place, unsigned int worker, uint32_t node, errcode_t error,
                                const char *action, struct problem *problem);

/* The same without a word: it lies in a directory that is left out, or has been counted as a loss. */
void place_forget(const struct place *place, uint32_t node);

/* Is the node to be made at all, by what is known now? */
static inline bool place_has(const struct place *place, uint32_t node)
{
	return extraction_mark(place->extraction, node) != DAMAGE_LEFT_OUT;
}
