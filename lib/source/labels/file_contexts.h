/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules by which SELinux labels files, file_contexts(5), read through libselinux: no policy is loaded, and SELinux
 * may be off.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "source/kind/run_files.h"
#include "support/problem.h"

struct file_contexts;

/*
 * Reads the rules at path, and those that libselinux takes with them: path with .homedirs, .local, .subs and
 * .subs_dist after it, and path.bin in its place where that is newer. The problem names path and the reason in
 * libselinux's words. Any thread; each rule is compiled when it is first tried, so what is opened belongs to one thread
 * at a time. ENOTSUP where we are built without libselinux.
 */
MUST_CHECK errcode_t file_contexts_open(const char *path, struct file_contexts **ret, struct problem *problem);

/*
 * The label of a file by its whole path, which begins with a slash, and its mode, with the type. *label: without the
 * rules' own <<none>>, which is NULL as where no rule matches; it stays valid until the next call. ENOMEM; EINVAL: a
 * rule cannot be compiled.
 */
MUST_CHECK errcode_t file_contexts_find(struct file_contexts *contexts, const char *path, uint16_t mode,
                                        const char **label, struct problem *problem);

/* Adds the files that file_contexts_open() reads, or would read if they were there, to what a run reads. ENOMEM. */
MUST_CHECK errcode_t file_contexts_name_files(const char *path, struct run_files *files);

/* NULL is allowed. */
void file_contexts_close(struct file_contexts *contexts);
