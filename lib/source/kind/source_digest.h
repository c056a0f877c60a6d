/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sha256 of a source's file. */
#pragma once

#include "source/kind/source_kind.h"

/* A digest as hexadecimal digits. Ends the hash, which can begin anew. */
void source_digest_text(struct sha256_ctx *hash, char digits[SOURCE_DIGEST_DIGITS + 1]);

/* Are these all digits of a digest, and is nothing after them? */
bool source_digest_is_valid(const char *digits);

/*
 * Reads the source's file, which has to be a regular one with source->bytes bytes and the digest source->digest, or
 * else whose bytes and digest are filled in where there is no digest yet. Then source->is_checked is true: the source
 * is refused if it is not that file, unchanged, when it is opened. EINVAL with a reason; EINTR after a signal; errors
 * of open(2) and read(2).
 */
MUST_CHECK errcode_t source_digest_check(struct source *source, struct problem *problem);
