/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libarchive's unpacking as a format of unpack/decoder.h. */
#pragma once

#include <archive.h>

#include "unpack/decoder.h"
#include "unpack/packing.h"

/* Returns what unpacks a packing: one of ours, or the following one. NULL: bytes stay as they are. */
const struct decoder_format *archive_packer_format_of(const struct packing *packing);

/*
 * The context is an archive of libarchive's format "raw" whose only member has been begun. It is used by the thread
 * that unpacks alone.
 */
extern const struct decoder_format archive_packer_format;

/* The next bytes of such a member, none at its end: ARCHIVE_OK. */
int archive_packer_block(struct archive *archive, const void **bytes, size_t *count);
