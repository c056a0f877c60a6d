/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The project id of a host's file. Archives and manifests have none; they only say whether new files inherit their
 * directory's project id. mke2fs -d ignores project ids: all its files have project 0.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "support/problem.h"

struct project {
	uint32_t id;
	bool is_inherited; /* a directory: by what is made in it */
};

/*
 * Asks for that of a name in an open directory, without following symlinks; "." is the directory itself. mode: of the
 * file. A file whose project a kernel before 6.17, or the filesystem, does not tell (symbolic links, devices and so on)
 * has the project of its directory where that one is inherited, as if it were made there, else 0. Errors of
 * file_getattr(2) and open(2). Any thread.
 */
MUST_CHECK errcode_t project_read(int directory, const char *name, uint32_t mode, const struct project *of_directory,
                                  struct project *project);
