/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UUID and hash seed. In a reproducible build (SOURCE_DATE_EPOCH) they are derived from what is built, so that equal
 * sources and options give equal bytes and different trees still get different UUIDs. Else they are drawn, but by us:
 * mke2fs, which is run several times, then makes the same filesystem each time. Directories need not be laid out again
 * for another seed, and an external journal gets one user instead of one for each run, which e2fsck would not accept.
 */
#pragma once

#include "populate/build/options.h"
#include "tree/tree.h"

#define IDENTITY_TEXT_BYTES 37 /* a UUID as text, with its end */

struct identity {
	char uuid[IDENTITY_TEXT_BYTES];
	char hash_seed[IDENTITY_TEXT_BYTES];
};

void identity_choose(const struct tree *tree, const struct populate_options *options, struct identity *identity);
