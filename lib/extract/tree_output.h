/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A form that a tree is written in. A new one is a file with a struct tree_output, and a row of the table in
 * extract/extract.c. Those that are one stream get the nodes one after the other, each directory just before what is in
 * it, with contents that other threads have read meanwhile (extract/in_order.h); one that writes in any order does all
 * itself.
 */
#pragma once

#include "extract/extract.h"
#include "extract/loaded.h"
#include "extract/losses.h"
#include "extract/output_sink.h"
#include "extract/selection.h"

enum damage_mark {
	DAMAGE_NONE,
	DAMAGE_LEFT_OUT, /* the output does not have the file */
	DAMAGE_ZEROED,   /* it has, with zeros in the place of what cannot be read */
};

/* A file that is damaged, or that cannot be made, and why. */
struct left_out {
	uint32_t node;
	struct problem problem;
};

/* State of each worker of an extraction. */
struct extraction_worker {
	struct loaded loaded;
	struct losses losses;
	struct left_out *left_out;
	size_t left_out_count, left_out_capacity;
};

/* A run of extract(). */
struct extraction {
	const struct tree *tree;
	const struct extract_options *options;
	const struct tree_output *output;
	struct selection selection;
	struct pool *pool;
	struct extraction_worker *workers; /* pool_workers() */
	uint8_t *damaged;                  /* by node, atomic: enum damage_mark */
	double hole_seconds;               /* that digests of holes have taken, of all workers; atomic */
};

/* A node as it is written: file is NULL where it has no contents. */
struct output_node {
	uint32_t number;
	const struct tree_node *node; /* the first of its file's names, which has the file's metadata */
	uint32_t link_to;             /* the first of its names that is written; itself: this is it */
	const struct loaded_file *file;
};

struct tree_output {
	const char *name; /* what holds the files, in messages: "tar" */
	bool has_contents;
	bool has_digests; /* instead of them */
	bool is_binary;   /* is not written to a terminal */

	/* Which losses (LOSS_BIT()) a node has because of the form, whatever the host allows. NULL: no node has any. */
	uint64_t (*lacks)(const struct tree *tree, const struct tree_node *node);

	/* Writes everything, into a place that it makes itself. If this is there, all others are NULL. */
	errcode_t (*write)(struct extraction *extraction, struct problem *problem);

	/*
	 * The others write to a stream, which sink is. One thread at a time calls them, not always the same. Errors of
	 * the stream leave the problem to the caller.
	 */
	errcode_t (*begin)(struct extraction *extraction, struct output_sink *sink, void **state);
	errcode_t (*node)(void *state, const struct output_node *node, struct problem *problem);
	errcode_t (*data)(void *state, const void *bytes, size_t count);
	errcode_t (*hole)(void *state, uint64_t count); /* zeros of a sparse file, which data() does not get */
	errcode_t (*end)(void *state);
	void (*close)(void *state); /* frees; NULL is allowed */
};

extern const struct tree_output directory_output, tar_output, mtree_output, list_output, json_list_output;

/* Bits of the losses that tree_output.lacks() gives. */
#define LOSS_BIT(loss) (UINT64_C(1) << (loss))

/*
 * The user is to be told, once, that a file is damaged, or cannot be made. *problem is moved. Any thread, with its own
 * worker. ENOMEM.
 */
MUST_CHECK errcode_t extraction_damaged(struct extraction *extraction, unsigned int worker, uint32_t node,
                                        enum damage_mark mark, struct problem *problem);

static inline enum damage_mark extraction_mark(const struct extraction *extraction, uint32_t node)
{
	return (enum damage_mark)__atomic_load_n(&extraction->damaged[node], __ATOMIC_RELAXED);
}

/* Whatever can be said of a node without reading it. ENOMEM. */
MUST_CHECK errcode_t extraction_note_lacks(struct extraction *extraction, unsigned int worker, uint32_t node);

/* "a/b", from the root; "." for the root. The caller frees it; NULL: no memory. */
char *extraction_path(const struct tree *tree, uint32_t node);
