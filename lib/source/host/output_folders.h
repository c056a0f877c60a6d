/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names in a folder that are left out and do not count, because the run itself makes them. */
#pragma once

#include "source/kind/source_kind.h"

/* Folders in which the run makes files. Zero-initialise; the caller frees list. */
struct output_folders {
	struct output_folder {
		uint64_t inode, device;
	} * list;
	size_t count, capacity;
};

/* Finds the folders of all outputs of options->files, as far as they are there. ENOMEM. */
MUST_CHECK errcode_t output_folders_find(const struct scan_options *options, struct output_folders *folders);

bool output_folders_have(const struct output_folders *folders, uint64_t inode, uint64_t device);

/* Is the file an output, or one that is being made, in a folder that is one of those? Any thread. */
bool output_is_left_out(const struct scan_options *options, bool is_in_output_folder, const char *name,
                        const struct stat *status);
