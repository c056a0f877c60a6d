/* SPDX-License-Identifier: GPL-2.0-or-later */
/* This finds the end of an archive whose format libarchive alone knows. */
#pragma once

#include "source/archive/archive_input.h"

/*
 * All members have been read of an archive in so many bytes. *end: where it ends among them, or later. libarchive has
 * got to the end by then, but for what it leaves out: ISO 9660's volume, a part of rar's last block, signatures of
 * other programs, which are no part of the archive but no surprise either. Errors of reading.
 */
MUST_CHECK errcode_t archive_end_find(const struct archive_input *input, uint64_t bytes, uint64_t *end);
