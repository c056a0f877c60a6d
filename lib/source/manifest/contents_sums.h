/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that a manifest's lines name, for the list of what a run reads: by the directories in which they lie. */
#pragma once

#include <sys/stat.h>

#include "source/kind/run_files.h"

/* Zero-initialise; contents_sums_clear() frees it. */
struct contents_sums {
	struct folder_sum below; /* of what lies below the manifest's directory */
	struct elsewhere {
		char *path; /* of a directory, without links; owned */
		struct folder_sum sum;
	} * elsewhere; /* of what does not */
	size_t count, capacity;
};

/* directory: the manifest's, open; path: as the line has it; descriptor: the file, open by O_PATH. ENOMEM. */
MUST_CHECK errcode_t contents_sums_add(struct contents_sums *sums, int directory, const char *path, int descriptor,
                                       const struct stat *status);

/* Adds them to what is read; path: of the manifest's directory. ENOMEM. */
MUST_CHECK errcode_t contents_sums_name(const struct contents_sums *sums, const char *path, struct run_files *files);

void contents_sums_clear(struct contents_sums *sums);
