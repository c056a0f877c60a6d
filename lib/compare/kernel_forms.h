/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the kernel shows in /proc/fs/ext4, as it does, or as JSON. Groups that nobody has touched are read first where
 * a form needs them. While no thread allocates. Errors of the stream stay in it.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "ext2fs/ext2mb.h"
#include "support/problem.h"
#include "support/text/json.h"

enum kernel_form {
	KERNEL_MB_STATS,
	KERNEL_MB_GROUPS,
	KERNEL_MB_STRUCTS_SUMMARY,
	KERNEL_FORMS,
};

/* "mb_stats"; NULL for KERNEL_FORMS. */
const char *kernel_form_name(enum kernel_form form);

/* ENOMEM, errors of reading bitmaps. */
MUST_CHECK errcode_t kernel_form_print(enum kernel_form form, struct ext2mb *mb, FILE *stream);

/*
 * As a value of this key. Of lines `NAME: VALUE` with a tab for each level of indent, one without a value is an object
 * that has the deeper lines; groups are an array.
 */
MUST_CHECK errcode_t kernel_form_write(enum kernel_form form, struct ext2mb *mb, struct json *json, const char *key);

/* The groups in [first, end) alone. */
MUST_CHECK errcode_t kernel_groups_print(struct ext2mb *mb, uint32_t first, uint32_t end, FILE *stream);
MUST_CHECK errcode_t kernel_groups_write(struct ext2mb *mb, uint32_t first, uint32_t end, struct json *json,
                                         const char *key);

/* Reads all groups: what is known of each is then what its bitmap says, not the best that its descriptor allows. */
MUST_CHECK errcode_t kernel_forms_load(struct ext2mb *mb);
