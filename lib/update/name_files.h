/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that an update reads and writes. */
#pragma once

#include "source/kind/run_files.h"
#include "update/build/options.h"

/* Adds all but the sources, before any of it is opened. ENOMEM. */
MUST_CHECK errcode_t update_name_files(const struct update_options *options, struct run_files *files,
                                       struct problem *problem);
