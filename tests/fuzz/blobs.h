/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blobs of an OCI image as parts of an input. In a part that is JSON, or the text of an archive that holds some,
 * @N@ is the digest of blob N (1 to 9) and #N# its size; a blob may name those that follow it. Any other blob is an
 * archive (tar_text.h).
 */
#pragma once

#include "fuzz.h"

#include <nettle/sha2.h>

#define MOST_BLOBS 9
#define DIGEST_CHARACTERS (2 * SHA256_DIGEST_SIZE)

struct blob {
	uint8_t *bytes;
	size_t count;
	char digest[DIGEST_CHARACTERS + 1];
};

struct blobs {
	struct blob list[MOST_BLOBS];
	size_t count;
};

/* The blobs that the rest of an input has; the caller frees them. */
void blobs_take(struct blobs *blobs, struct fuzz_part rest);
void blobs_free(struct blobs *blobs);

/* A part with digests and sizes put in; the caller frees it. */
char *blobs_fill_in(const struct blobs *blobs, const struct fuzz_part *part, size_t *count);

/* Whiteouts remove others, and are no files themselves. */
void blobs_check_markers(const struct tree *tree);
