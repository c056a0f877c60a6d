/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names what populate() reads and writes, for report->files. */
#pragma once

#include "populate/build/options.h"
#include "source/kind/run_files.h"

/* Adds all but the sources, before any of it is opened. Errors of reading a folder that an option names; ENOMEM. */
MUST_CHECK errcode_t name_files(const struct populate_options *options, struct pool *pool, struct run_files *files,
                                struct problem *problem);
