/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lays sources over an existing image; files that are the same stay untouched. */
#pragma once

#include "source/kind/run_files.h"
#include "update/build/options.h"
#include "update/build/report.h"

/*
 * Is called for each action, in order, in a dry run or with options->lists_actions. '+' is a new name, '=' a replaced
 * file, '~' a change of metadata alone, '-' a removed name. path is valid during the call.
 */
typedef void (*update_listener)(void *context, char verb, const char *path);

/*
 * Changes options->image. The report is filled in after errors, too; the caller clears it. Errors name the file or
 * image that they are about. After an error the image is as it was, or, unless options->is_atomic is set, it has a part
 * of the changes, and the same call again completes them. files gets what is read and written; it may be NULL.
 */
MUST_CHECK errcode_t update(const struct update_options *options, struct run_files *files, update_listener listener,
                            void *context, struct update_report *report, struct problem *problem);

/*
 * Adds to files what update() would read and write, and changes nothing. Folders are scanned, no archive or image is
 * read. Errors of the sources that cannot be seen.
 */
MUST_CHECK errcode_t update_look(const struct update_options *options, struct run_files *files,
                                 struct problem *problem);
