/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The entries of a directory in hash order. Of this folder only; see directory.h for what callers use. */
#pragma once

#include "ondisk/directory.h"

/* An entry's hash in the upper half, its number in the lower: 8 bytes, and compared as one number. */
static inline uint32_t directory_key_hash(uint64_t key)
{
	return key >> 32;
}

static inline uint32_t directory_key_entry(uint64_t key)
{
	return (uint32_t)key;
}

/*
 * source->count keys by hash, then minor hash, then number; the caller frees them. Errors: ENOMEM,
 * EXT2_ET_DIRHASH_UNSUPP (a hash version that needs a key or is not known).
 */
MUST_CHECK errcode_t directory_order(const struct ondisk_format *format, const struct directory_source *source,
                                     uint64_t **ret);
