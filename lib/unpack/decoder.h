/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoders of files: gzip, zstd or xz, which are read here, or anything else (unpack/archive_packer.h). Files
 * of gzip and zstd are one or more members (zstd: frames), each of which can be unpacked without those before it.
 */
#pragma once

#include "unpack/packed_reader.h"

struct decoder;

/* What follows what is packed, and is not zeros. */
struct packed_rest {
	uint64_t at;    /* where in the file; 0: nothing follows */
	uint8_t *bytes; /* of a pipe: those that have been read of it already; owned */
	size_t count;
};

/* How what is packed so is unpacked. */
struct decoder_format {
	const char *name;

	/* Does it begin so? `count` bytes are at hand of it. */
	bool (*begins)(const uint8_t *bytes, size_t count);

	/*
	 * Returns where the next member may begin among these bytes; at or after `count`: nowhere. It may be wrong: a
	 * member begins there only if another one ends there. NULL: there is always one.
	 */
	size_t (*find_member)(const uint8_t *bytes, size_t count);

	/* ENOMEM; context is for formats of others. */
	errcode_t (*open)(struct decoder *decoder, void *context);
	void (*close)(struct decoder *decoder);

	/*
	 * Unpacks into bytes until there is little room left, a member ends, or everything does. Damage is EBADMSG with
	 * a reason; then *written says what comes before it. Checksums and lengths have been compared when a member has
	 * ended. EAGAIN before anything of a member is unpacked: only where it is not speculative.
	 */
	errcode_t (*run)(struct decoder *decoder, uint8_t *bytes, size_t room, size_t *written);
};

/* Callers ask for at least this much at a time. */
#define DECODER_LEAST_ROOM ((size_t)BUFFER_SIZE(128, 4) << 10)

enum decoder_place {
	DECODER_BEFORE_MEMBER, /* at the reader's position another member may begin */
	DECODER_IN_MEMBER,
	DECODER_AT_END, /* nothing comes any more */
};

struct decoder {
	const struct decoder_format *format;
	struct packed_reader reader;
	enum decoder_place place;
	bool is_speculative; /* nobody knows yet whether a member begins where it does */
	struct packed_rest rest;
	char reason[160]; /* of EBADMSG */
	void *state;      /* the format's */
};

extern const struct decoder_format gzip_format;

/* No packing: unchanged bytes of a pipe. */
extern const struct decoder_format plain_format;

/* NULL: built without libzstd or liblzma, so that libarchive has to. */
extern const struct decoder_format *const zstd_format, *const xz_format;

/* Begins at a member. Also after a failure it is to be closed. ENOMEM. */
MUST_CHECK errcode_t decoder_open(struct decoder *decoder, const struct decoder_format *format, void *context,
                                  const struct packed_file *file, uint64_t at, bool is_speculative);
void decoder_close(struct decoder *decoder);

/* As format->run, until there is no more room or a member has ended. */
MUST_CHECK errcode_t decoder_run(struct decoder *decoder, uint8_t *bytes, size_t room, size_t *written);

/* For formats: nothing comes any more. Looks for what follows. ENOMEM, errors of reading. */
MUST_CHECK errcode_t decoder_end(struct decoder *decoder);

/* The same where only zeros and what the file's may_follow() knows may follow; else EBADMSG with this reason. */
MUST_CHECK errcode_t decoder_end_known(struct decoder *decoder, const char *reason);

/* Records why; EBADMSG. */
errcode_t decoder_damaged(struct decoder *decoder, const char *reason);
