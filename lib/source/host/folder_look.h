/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sum of a folder without its tree: what directory_source would read is examined, and forgotten. Memory is for
 * the directories between the folder and the one that is looked at, and for those beside them; a thread does it.
 */
#pragma once

#include "source/kind/folder_sum.h"
#include "source/kind/source_kind.h"

/* The same sum as directory_source's. The problem names what cannot be examined. Main thread. */
MUST_CHECK errcode_t folder_look(const char *path, const struct scan_options *options, struct folder_sum *sum,
                                 struct problem *problem);
