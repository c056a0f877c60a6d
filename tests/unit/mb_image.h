/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A real filesystem for the tests of the allocator, and what is in use in it as libext2fs sees it. Every failure
 * ends the test; a suite's unchecked fixtures make and remove the folder.
 */
#pragma once

#include <stdint.h>

#include <ext2fs/ext2fs.h>

#include "assertions.h"
#include "compare/policies.h"

/* ck_assert for what returns an errcode_t. */
#define ck_assert_ok(call)                                                                                             \
	do {                                                                                                           \
		errcode_t call_error = (call);                                                                         \
		if (call_error)                                                                                        \
			ck_abort_msg("%s: %s", #call, error_message(call_error));                                      \
	} while (0)

#define ck_assert_error(call, expected)                                                                                \
	do {                                                                                                           \
		errcode_t call_error = (call);                                                                         \
		if (call_error != (expected))                                                                          \
			ck_abort_msg("%s: %s instead of %s", #call, error_message(call_error),                         \
			             error_message(expected));                                                         \
	} while (0)

void mb_image_setup(void);
void mb_image_teardown(void);
const char *mb_image_path(void);

/* A case of the suite with these fixtures, whose tests may take ten minutes each. */
TCase *mb_image_case(Suite *suite);

/* mke2fs with these options ("-t ext4 -b 1024") and this size in mke2fs's words. */
void mb_image_make(const char *mke2fs_options, const char *size);

/* Opens it for writing; several may be open one after the other. */
ext2_filsys mb_image_open(void);

/* It with an allocator and one worker, all three open until the test closes them. */
struct small_image {
	ext2_filsys fs;
	struct ext2mb *mb;
	struct ext2mb_worker *worker;
};

void small_image_open(struct small_image *image, const struct ext2mb_options *options);
void small_image_open_policy(struct small_image *image, const struct policy_options *options);

/* With its worker, after a check: nothing is reserved any longer. */
void small_image_close(struct small_image *image);

/* A byte for every cluster, or every inode (number 1 first): 1 if in use, read by a fresh libext2fs. */
uint8_t *mb_image_read_clusters(uint64_t *count);
uint8_t *mb_image_read_inodes(uint64_t *count);

/*
 * Makes the extents belong to files in the root directory, in as many as they need without blocks of their own,
 * so that nothing is in use that nobody refers to. The filesystem must be open and without allocator.
 */
void mb_image_attach(ext2_filsys fs, const struct ext2mb_extent *extents, size_t count);

/* Runs e2fsck -fn on the closed image, which must find nothing. */
void mb_image_check(void);

/* ext2mb_read_criterion_stats(), which must not fail. */
struct ext2mb_criterion_stats mb_criterion_stats(struct ext2mb *mb, unsigned int index);

/* ext2mb_check(), or the test fails for the reason that it gives. */
void mb_check(struct ext2mb *mb);

/* How many free extents there are; those of neighbouring groups are one. */
unsigned int mb_free_extents(struct ext2mb *mb);

/* After a sync there are no more of them than this. */
void mb_expect_free_extents(struct ext2mb *mb, unsigned int most);

/*
 * Options from TEST_POLICY, a policy with choices added or dropped ("base +try-lock", "series -ordered-sets
 * -scan-in-place"); the defaults when it is not set.
 */
const struct policy_options *mb_options(void);

/* TEST_OPERATIONS if it is set, else this many. */
uint64_t mb_operations(uint64_t otherwise);
