/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UUID and hash seed of a reproducible build (SOURCE_DATE_EPOCH): derived from what is built instead of drawn,
 * so that equal sources and options give equal bytes and different trees still get different UUIDs.
 */
#ifndef POPULATE_IDENTITY_H
#define POPULATE_IDENTITY_H

#include "populate/populate.h"
#include "source/tree.h"

#define IDENTITY_TEXT_BYTES 37 /* a UUID as text, with its end */

struct identity {
	char uuid[IDENTITY_TEXT_BYTES];
	char hash_seed[IDENTITY_TEXT_BYTES];
};

/* From the tree's names and metadata, the options for mke2fs and the epoch; contents are not read. */
void identity_derive(const struct tree *tree, const struct populate_options *options, struct identity *identity);

#endif
