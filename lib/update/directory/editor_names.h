/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way in which one directory's names are hashed and compared. */
#pragma once

#include "ondisk/entry_block.h"

struct editor_names {
	struct ondisk_format format; /* the filesystem's, but with this directory's hash version */
	bool is_casefolded;
};

struct editor_name {
	struct directory_name name;
	uint32_t hash;
};

/* Computes a name's hash. EXT2_ET_DIRHASH_UNSUPP. */
MUST_CHECK errcode_t editor_name_hash(const struct editor_names *names, struct directory_name name,
                                      struct editor_name *ret);
