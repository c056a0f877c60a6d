/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's files in /proc/fs/ext4, as text or as JSON. Bitmaps of groups that have not been read are read first
 * if a form needs them. Called while no thread allocates. Errors of the stream stay in it.
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
 * Writes a form as the value of this key. The text has lines `NAME: VALUE` with a tab for each level; a line without
 * a value becomes an object that has the deeper lines. Groups become an array.
 */
MUST_CHECK errcode_t kernel_form_write(enum kernel_form form, struct ext2mb *mb, struct json *json, const char *key);

/* Prints only the groups in [first, end). */
MUST_CHECK errcode_t kernel_groups_print(struct ext2mb *mb, uint32_t first, uint32_t end, FILE *stream);
MUST_CHECK errcode_t kernel_groups_write(struct ext2mb *mb, uint32_t first, uint32_t end, struct json *json,
                                         const char *key);

/* Reads all groups' bitmaps: their summaries are then exact, and not the best case of their descriptors. */
MUST_CHECK errcode_t kernel_groups_load(struct ext2mb *mb);
