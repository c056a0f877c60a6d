/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of an archive on their way to libarchive: we know where in the file those lie that it hands back. */
#pragma once

#include <archive.h>
#include <locale.h>
#include <stdio.h>

#include "source/archive/archive_kind.h"
#include "source/mtree/mtree.h"

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

struct archive_input {
	const struct archive_kind *kind;
	struct archive *archive; /* NULL: a manifest that is not packed */
	struct archive *unpacker; /* of a packed file: its one member is what archive reads; NULL: it is not packed */
	uint64_t unpacked_at;     /* where in that the next block begins */
	struct header_tap tap;
	int descriptor;  /* borrowed */
	bool is_regular; /* a regular file: it is read with pread(2), and can be sought in */
	uint64_t start;  /* where in it the archive begins (standard input may have been read from) */
	uint64_t at;     /* where the next read begins; of anything else: bytes read */
	uint64_t end;    /* of a regular file */
	char *buffer;
	uint64_t buffer_at; /* where in the file its bytes lie */
	size_t buffer_bytes;
	bool is_unread;    /* libarchive has not got the buffer yet */
	const char *text;  /* of a manifest: what is at hand of it */
	size_t text_bytes; /* likewise */
	struct archive_entry *first; /* the first member, which had to be read to know that */
	int first_result;
	bool has_first;    /* the caller has not got it yet */
	errcode_t error;   /* of reading, which libarchive would only describe */
	char refusal[120]; /* why it is not read; empty: libarchive says why */
	locale_t own_locale, callers_locale;
};

/*
 * Opens an archive of a kind for reading; descriptor must last as long. ENOMEM, errors of reading, EBADMSG, also where
 * it is of another kind.
 */
MUST_CHECK errcode_t archive_input_open(struct archive_input *input, int descriptor, const struct archive_kind *kind);

/* archive_read_next_header() of the archive. */
int archive_input_next(struct archive_input *input, struct archive_entry **entry);

/*
 * The bytes of the header of the member that this gave, or more; valid until the next call of any of these, and to be
 * asked for before contents are read. NULL where they are not known (libarchive went back in the archive).
 */
MUST_CHECK errcode_t archive_input_header(struct archive_input *input, const uint8_t **bytes, size_t *count);

/* Records that opening or reading failed with this error, and why. path: of the archive, or a member of it. */
errcode_t archive_input_problem(const struct archive_input *input, errcode_t error, const char *path,
                                struct problem *problem);

/* Closes what was opened; the caller's locale is back. Also after a failed or no opening (zeroed). */
void archive_input_close(struct archive_input *input);

/* Is what libarchive handed out a part of the file as it is? Then *offset says where it lies. */
bool archive_input_locate(const struct archive_input *input, const void *bytes, size_t count, uint64_t *offset);

/* mtree_read() of an open file, which may be packed as an archive may be. The problem names it as name. */
MUST_CHECK errcode_t archive_input_read_manifest(int descriptor, const char *name, mtree_visit visit, void *context,
                                                 struct problem *problem);
