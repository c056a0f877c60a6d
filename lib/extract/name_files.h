/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that taking files out of an image reads and writes. */
#pragma once

#include "extract/extract.h"
#include "source/kind/run_files.h"

/* Adds all but the image, which is a source (source/sources.h). ENOMEM. */
MUST_CHECK errcode_t extract_name_files(const struct extract_options *options, struct run_files *files,
                                        struct problem *problem);
