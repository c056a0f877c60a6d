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

/* Salts of dm-verity have as many bytes, as veritysetup(8) draws them. */
#define IDENTITY_SALT_BYTES 32

/*
 * The salt and the UUID of a hash tree, derived from the UUID of the filesystem that it protects. So they are drawn
 * where that is, and an update that keeps the filesystem's keeps them too: then trees differ only where the filesystems
 * do.
 */
struct tree_identity {
	unsigned char salt[IDENTITY_SALT_BYTES];
	unsigned char uuid[16];
};

struct tree_identity identity_of_tree(const char *filesystem_uuid);

void identity_choose(const struct tree *tree, const struct populate_options *options, struct identity *identity);
