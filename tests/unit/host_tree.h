/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees of real files to scan, and comparisons of what was read. A failure fails the running test. */
#pragma once

#include "seeded_random.h"
#include "tree/contents.h"
#include "source/kind/source_kind.h"
#include "source/sources.h"

/* Around all tests: the directory below which they work, in TMPDIR; its removal. */
void host_tree_begin(void);
void host_tree_end(void);

/* A new empty directory for one test; the caller frees its path. */
char *host_tree_directory(void);

/* "DIRECTORY/NAME", until the next call but three. */
const char *host_tree_below(const char *directory, const char *name);

void host_tree_write(const char *path, const char *text);

/* Makes `entries` files of all types that the user may make, in directories of all sizes, below an existing one. */
void host_tree_make(struct random *random, const char *path, unsigned int entries);

/* Scans a host directory; options may be NULL. */
errcode_t host_tree_try(const char *path, const struct scan_options *options, struct pool *pool, struct tree **tree,
                        struct problem *problem);

/* Scans with so many threads, checks the tree and returns it. */
struct tree *host_tree_scan(const char *path, const struct scan_options *options, unsigned int threads);

/*
 * The scan with so many threads fails with this error, leaving no tree, and names this path, with these words in what
 * the user is told. expected_path and words may be NULL.
 */
void host_tree_expect_failure(const char *path, unsigned int threads, errcode_t expected, const char *expected_path,
                              const char *words);

/* Two trees are equal in everything but the place of their memory. */
void host_tree_expect_equal(const struct tree *one, const struct tree *other);

/* Each node is what lstat(2), readlink(2) and l*xattr(2) say of its path, and no name is missing. */
void host_tree_expect_true(const struct tree *tree);

/* What the reader opens for this node holds this text. */
void host_tree_expect_text(struct content_reader *reader, uint32_t node, const char *expected);

/* The node with this path below the root; it must be there. */
uint32_t host_tree_find(const struct tree *tree, const char *path);
