/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of members' headers, beside what libarchive makes of them. */
#pragma once

#include <stdbool.h>

#include "support/problem.h"

/*
 * The bytes of an archive member's header as libarchive read them. libarchive skips what it does not understand in a
 * header and stops at the first character of a number that is not a digit, both without a word; so headers are read
 * once more. Nothing is copied unless a header is cut by the end of a block that libarchive was given, or libarchive
 * looks ahead.
 */
struct header_tap {
	const uint8_t *block; /* what libarchive was given last; borrowed */
	uint64_t block_at;    /* where it lies in the unpacked archive */
	size_t block_bytes;
	bool is_open;     /* a header is being read: */
	uint64_t from;    /* where it begins */
	uint8_t *kept;    /* of blocks that are gone, what libarchive has not used yet or the header has; owned */
	uint64_t kept_at; /* where it lies */
	size_t kept_bytes, kept_capacity;
};

/*
 * Before the block goes, of which libarchive has used what lies before `consumed`. ENOMEM; EBADMSG: the header is
 * larger than any can be.
 */
MUST_CHECK errcode_t header_tap_leave_block(struct header_tap *tap, uint64_t consumed);

/* libarchive has been given this. */
static inline void header_tap_give(struct header_tap *tap, const void *block, size_t bytes, uint64_t at)
{
	tap->block = block;
	tap->block_bytes = bytes;
	tap->block_at = at;
}

/* Returns how many bytes there are from `at` on, in one piece; 0: they are gone, or have not come. */
size_t header_tap_look(const struct header_tap *tap, uint64_t at, const uint8_t **bytes);

/* What there is from tap->from to `end`, or more; NULL where it is gone. Errors likewise. */
MUST_CHECK errcode_t header_tap_get(struct header_tap *tap, uint64_t end, const uint8_t **bytes, size_t *count);
