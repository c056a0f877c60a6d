/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SELinux labels of a whole tree: the xattr security.selinux of each file, by the rules of a policy's file_contexts or
 * as the source has it.
 *
 * A file with several names gets the label of its first one in tree order. The value ends in a NUL, as the kernel,
 * setfilecon(3) and e2fsdroid(8) store it; mkfs.erofs(1) leaves it out, and the kernel takes both for the same label.
 */
#pragma once

#include "support/run/pool.h"
#include "tree/tree.h"

enum label_choice {
	LABELS_AS_USUAL,  /* LABELS_OF_RULES where there are rules, else LABELS_OF_SOURCE */
	LABELS_OF_SOURCE, /* those of the source stay; rules are for files without one */
	LABELS_OF_RULES,  /* the rules decide: where they give none, a label of the source goes, too */
	LABELS_LEFT_OUT,  /* of the source; there are no rules */
};

struct label_options {
	enum label_choice choice;
	const char *file_contexts; /* where the rules are; NULL: there are none */
	const char *prefix;        /* put before each path; NULL: nothing */
};

struct labels;

/* True if anything is to be done. */
static inline bool labels_are_wanted(const struct label_options *options)
{
	return options->file_contexts || options->choice == LABELS_LEFT_OUT;
}

/* Reads the rules, which is done early: they may be wrong. options must stay. Main thread. */
MUST_CHECK errcode_t labels_open(const struct label_options *options, struct labels **ret, struct problem *problem);

/*
 * Labels the tree; with only_missing, only those of its files that have no label. Each worker reads the rules for
 * itself. *count: the files that have a label then, each once. Problems name the rules. After a failure the tree can
 * only be destroyed. Main thread.
 */
MUST_CHECK errcode_t labels_apply(struct labels *labels, struct tree *tree, bool only_missing, struct pool *pool,
                                  uint64_t *count, struct problem *problem);

/*
 * The xattr that the rules give to a directory of the root that the tree does not have. *xattr: its name is NULL where
 * they give none; the value is in memory. Main thread.
 */
MUST_CHECK errcode_t labels_of_directory(struct labels *labels, const char *name, struct arena *memory,
                                         struct tree_xattr *xattr, struct problem *problem);

/* NULL is allowed. */
void labels_close(struct labels *labels);
