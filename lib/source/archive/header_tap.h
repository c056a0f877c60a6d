/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of an archive member's header as libarchive read them. libarchive skips what it does not understand in a
 * header and stops at the first character of a number that is not a digit, both without a word; so headers are read
 * once more. Nothing is copied unless a header is cut by the end of a block that libarchive was given, or libarchive
 * looks ahead.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

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

/* From here on a header is read. */
void header_tap_begin(struct header_tap *tap, uint64_t from);

/* It has been read: what comes now is not a part of it. */
void header_tap_close(struct header_tap *tap);

/*
 * Before the block goes, of which libarchive has used what lies before `consumed`, and after the next one has come.
 * ENOMEM; EBADMSG: the header is larger than any can be.
 */
MUST_CHECK errcode_t header_tap_leave(struct header_tap *tap, uint64_t consumed);
void header_tap_enter(struct header_tap *tap, const void *block, uint64_t at, size_t bytes);

/*
 * The bytes of the header that has been read, up to `end` or further; valid until the next call of any of these, and
 * to be asked for before any other block comes. NULL where they are not known (libarchive went back in the archive).
 */
MUST_CHECK errcode_t header_tap_bytes(struct header_tap *tap, uint64_t end, const uint8_t **bytes, size_t *count);

void header_tap_destroy(struct header_tap *tap);
