/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DEFLATE (RFC 1951) by the fastest library that configure found: ISA-L for streams, libdeflate for members that are
 * in memory as a whole, zlib for the rest. For linux-source-6.1 (1299 MiB from 211 MiB) ISA-L took 1.05 s of
 * processor time, zlib 2.9 s.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/problem.h"

/* One thread's. */
struct inflater;

/* What is read and where it goes; both move on. */
struct inflate_buffers {
	const uint8_t *in;
	size_t in_bytes;
	uint8_t *out;
	size_t out_bytes;
};

/* At the end of a stream `in` may lie up to this far before what was handed in last: the caller keeps those bytes. */
#define INFLATE_KEPT_BYTES 8

/* Which libraries are in use, for people: "isal", "libdeflate, zlib". */
extern const char inflate_libraries[];

/* ENOMEM. */
MUST_CHECK errcode_t inflater_create(struct inflater **ret);
void inflater_destroy(struct inflater *inflater);

/* What comes next is the beginning of a stream. ENOMEM. */
MUST_CHECK errcode_t inflater_begin(struct inflater *inflater);

/*
 * Goes on until there is nothing to read, no room to write, or the stream ends. EBADMSG: it is damaged; what was
 * written until then means nothing.
 */
MUST_CHECK errcode_t inflater_run(struct inflater *inflater, struct inflate_buffers *buffers, bool *is_end);

/*
 * A whole stream at once, where a library is there that is faster so. False: none is, or it is damaged, cut off or
 * larger than the room; nothing has moved then.
 */
bool inflater_run_whole(struct inflater *inflater, struct inflate_buffers *buffers);

/* gzip's checksum of further bytes; that of none is 0. */
uint32_t inflate_checksum(uint32_t checksum, const void *bytes, size_t count);
