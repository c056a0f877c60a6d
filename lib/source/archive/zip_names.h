/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of zip's members as they are stored. */
#pragma once

#include <archive_entry.h>

#include "source/archive/archive_input.h"

/*
 * libarchive converts names that zip marks as UTF-8, which fails in the C locale and leaves none; in a UTF-8 locale it
 * would normalize them, so that two files of an archive could become one. They are in the member's local header, after
 * which libarchive has just stopped (of a symbolic link, after its target).
 *
 * Gives the entry that libarchive has just read the name and the target that it lacks, if they are found. ENOMEM,
 * errors of reading.
 */
MUST_CHECK errcode_t zip_names_restore(const struct archive_input *input, struct archive_entry *entry);
