/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of an archive on their way to libarchive: we know where in the file those lie that it hands back. */
#pragma once

#include <archive.h>
#include <locale.h>
#include <stdio.h>

#include "disk/disk_form.h"
#include "source/archive/archive_kind.h"
#include "source/archive/header_tap.h"
#include "source/archive/unpacking.h"
#include "source/mtree/mtree.h"

struct archive_input {
	const struct archive_kind *kind;
	const struct scan_options *options; /* of what is unpacked; NULL: of a manifest */
	struct archive *archive;            /* NULL: a manifest */
	struct unpacking unpacking;         /* what archive reads instead of the file, where it is packed or a pipe */
	struct unpacked_store *store;       /* what has come of that; NULL: contents lie in the file */
	bool is_spooled;                    /* all of it is there, and can be sought in */
	uint64_t unpacked_at;               /* where in that the next block begins */
	uint64_t base;                      /* likewise: where archive began to read */
	uint64_t reached;                   /* the furthest place from which archive has gone elsewhere */
	uint8_t *resumed;                   /* the first bytes there, which do not come as they are in it; owned */
	size_t resumed_bytes, resumed_capacity;
	struct header_tap tap;
	bool cut_xattr; /* of the member that was given, an xattr was left out of its header, which was too large */
	char too_large[100]; /* a key that was so, though it is used; empty: none */
	struct packed_position position;
	struct packed_file file; /* regular: it can be sought in */
	uint64_t at;             /* where the next read begins */
	uint64_t end; /* of a regular file, as `start` is the beginning: standard input may have been read from */
	uint64_t start;
	char *buffer;
	size_t buffer_capacity;
	const char *last_read; /* in the buffer: */
	uint64_t buffer_at;    /* where in the file, or in the store, its bytes lie */
	size_t buffer_bytes;
	bool is_empty;     /* the file */
	bool is_unread;    /* libarchive has not got the buffer yet */
	const char *text;  /* of a manifest: what is at hand of it */
	size_t text_bytes; /* likewise */
	const struct archive_kind
		*looks_like;         /* what begins as the file does, or as what it unpacks to; NULL: nothing known */
	const char *looks_packed;    /* likewise, with what it is packed */
	enum disk_form disk;         /* what it is instead of an archive */
	bool has_disk;               /* it is one, or may have partitions */
	struct archive_entry *first; /* the first member, which had to be read to know that */
	int first_result;
	uint64_t data_end; /* of the member that was given; 0: unknown */
	bool is_at_end;    /* of what is read in order */
	bool has_first;    /* the caller has not got it yet */
	bool is_further;   /* it follows another archive */
	bool is_moved;     /* likewise, in a pipe: where it begins is not known */
	errcode_t error;   /* of reading, which libarchive would only describe */
	char refusal[120]; /* why it is not read; empty: libarchive says why */
	locale_t own_locale, callers_locale;
};

/* Up to the end of the file. */
#define ARCHIVE_INPUT_ALL UINT64_MAX

/*
 * Opens an archive of a kind for reading, from where the descriptor is, of so many bytes at most;
 * descriptor and options must last as long. ENOMEM, errors of reading, EBADMSG,
 * also where it is of another kind.
 */
MUST_CHECK errcode_t archive_input_open(struct archive_input *input, int descriptor, const struct archive_kind *kind,
                                        uint64_t most_bytes, const struct scan_options *options);

/* Hands over what is unpacked, which goes on to be used; NULL: contents lie in the file. */
struct unpacked_store *archive_input_release_store(struct archive_input *input);

/*
 * After a failed opening with has_disk: all that came through the pipe, as it unpacks, in a file without a name, which
 * the caller closes. *descriptor -1: it is a regular file, which can be read anew. Errors of unpacking_next().
 */
MUST_CHECK errcode_t archive_input_spool(struct archive_input *input, const char *name, int *descriptor,
                                         struct problem *problem);

/* Where archive has come to, in the file or in what that unpacks to. */
static inline uint64_t archive_input_position(const struct archive_input *input)
{
	la_int64_t consumed = archive_filter_bytes(input->archive, 0);

	return input->base + (consumed > 0 ? (uint64_t)consumed : 0);
}

/* Begins anew with what comes next, the bytes of input->resumed first, which lie there. Errors of opening. */
MUST_CHECK errcode_t archive_input_resume(struct archive_input *input, uint64_t at);

/* The same from there on in the file, which is looked at anew; of a pipe the bytes of input->resumed have been read. */
MUST_CHECK errcode_t archive_input_reopen(struct archive_input *input, uint64_t at);

/* archive_read_next_header() of the archive. */
int archive_input_next(struct archive_input *input, struct archive_entry **entry);

/*
 * Did libarchive fail only since a layer ends with the contents of its last member, and lacks zeros that fill up the
 * block? Some programs have left them out, and nothing is missing.
 */
bool archive_input_lacks_padding(const struct archive_input *input);

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

/* Is what libarchive hands out a part of the file, or of what it unpacks to, as it is? Then *offset says where. */
bool archive_input_locate(const struct archive_input *input, const void *bytes, size_t count, uint64_t *offset);

/* Reads what lies there once more. */
MUST_CHECK errcode_t archive_input_read_back(const struct archive_input *input, void *bytes, size_t count,
                                             uint64_t offset);

/* mtree_read() of an open file, which may be packed as an archive may be. The problem names it as name. */
MUST_CHECK errcode_t archive_input_read_manifest(int descriptor, const char *name, mtree_visit visit, void *context,
                                                 struct problem *problem);
