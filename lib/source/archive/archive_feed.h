/* SPDX-License-Identifier: GPL-2.0-or-later */
/* This feeds libarchive for archive_input: with the bytes of the file, or with those that it unpacks to. */
#pragma once

#include "source/archive/archive_input.h"

/* Is the input read in order, from what unpacks it? */
static inline bool archive_feed_is_stream(const struct archive_input *input)
{
	return input->unpacking.count && !input->is_spooled;
}

/* Reads the next bytes into the buffer, at least `least` unless the input ends. ENOMEM, errors of reading. */
MUST_CHECK errcode_t archive_feed_fill(struct archive_input *input, size_t least);

/*
 * Gives the bytes that come next, and where in the input they lie. They come in order, each once, where they are
 * hashed. Errors of unpacking_next() and of reading.
 */
MUST_CHECK errcode_t archive_feed_next(struct archive_input *input, const uint8_t **bytes, size_t *count, uint64_t *at);

/* The same, where an archive has been opened: it says what is damaged. None: the end. */
MUST_CHECK errcode_t archive_feed_block(struct archive_input *input, const uint8_t **bytes, size_t *count,
                                        uint64_t *at);

/* Has libarchive read what comes next as an archive. Its format "raw" takes anything. ENOMEM, errors of reading. */
MUST_CHECK errcode_t archive_feed_open(struct archive_input *input);

/* Begins anew, after libarchive has been given other bytes, with what lies there. Errors likewise. */
MUST_CHECK errcode_t archive_feed_reopen(struct archive_input *input, uint64_t at);
