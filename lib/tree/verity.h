/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a regular file is protected by fs-verity: everything of it but the hashes, which follow from the contents. */
#pragma once

#include "ondisk/verity.h"

struct tree_verity {
	uint8_t algorithm;  /* as on disk: VERITY_SHA256, VERITY_SHA512 */
	uint8_t block_bits; /* 0: 4 KiB, or the image's blocks if these are smaller */
	uint8_t salt_bytes;
	uint8_t salt[VERITY_MOST_SALT_BYTES];
	bool is_inherited;        /* from a source: where the image cannot hold it, the file is copied without it */
	bool has_digest;          /* digest is what the contents must come to */
	uint32_t signature_bytes; /* 0: none */
	const void *signature;    /* a detached PKCS#7 signature of the digest, as fsverity(1) signs it */
	uint8_t digest[HASH_TREE_MOST_DIGEST_BYTES];
};

/* The hash of an algorithm, VERITY_SHA256 or VERITY_SHA512. */
const struct nettle_hash *tree_verity_hash(uint8_t algorithm);

/* "sha256", "sha512", as fsverity(1) has them. */
const char *tree_verity_algorithm_name(uint8_t algorithm);

/* The reverse, of a name that need not end there; 0: there is no such algorithm. */
uint8_t tree_verity_algorithm(const char *name, size_t bytes);

/* "sha256:" and the digest in hexadecimal digits, as fsverity(1) prints it. */
#define TREE_VERITY_TEXT_BYTES (sizeof("sha512:") + 2 * HASH_TREE_MOST_DIGEST_BYTES)
void tree_verity_text(uint8_t algorithm, const uint8_t *digest, char text[TREE_VERITY_TEXT_BYTES]);

/* Reads hexadecimal digits, most_bytes pairs at most, up to the end of the text. False: it is not that. */
bool tree_verity_read_digits(const char *text, uint8_t *bytes, size_t most_bytes, size_t *count);
