/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Digests of a source's file, and of what that unpacks to. */
#pragma once

#include "source/kind/source_kind.h"

/* A digest as hexadecimal digits. Ends the hash, which can begin anew. */
void source_digest_text(struct sha256_ctx *hash, char digits[SOURCE_DIGEST_DIGITS + 1]);

#define SOURCE_SHA512_DIGITS (2u * SHA512_DIGEST_SIZE)

/* The same of a sha512. */
void source_sha512_text(struct sha512_ctx *hash, char digits[SOURCE_SHA512_DIGITS + 1]);

/* Are these so many hexadecimal digits, and is nothing after them? */
bool source_digest_is_valid(const char *digits, size_t count);

/* Compares the sha256 of what a layer unpacks to with its diff_id, if it has one. EINVAL: they differ. */
MUST_CHECK errcode_t source_diff_id_check(const struct source *source, const char *digits, struct problem *problem);

/*
 * Reads the source's file, which has to be a regular one with source->bytes bytes and the digests source->digest and
 * source->sha512, as far as they are known; bytes and digest are filled in where there is no digest yet. Then
 * source->is_checked is true: the source is refused if it is not that file, unchanged, when it is opened. EINVAL with a
 * reason; EINTR after a signal; errors of open(2) and read(2).
 */
MUST_CHECK errcode_t source_digest_check(struct source *source, struct problem *problem);
