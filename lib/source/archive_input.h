/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of an archive on their way to libarchive: we know where in the file those lie that it hands back. */
#ifndef SOURCE_ARCHIVE_INPUT_H
#define SOURCE_ARCHIVE_INPUT_H

#include <archive.h>
#include <locale.h>
#include <stdio.h>

#include "source/tree.h"

struct archive_input {
	struct archive *archive;
	int descriptor;  /* borrowed */
	bool is_regular; /* a regular file: it is read with pread(2), and can be sought in */
	uint64_t start;  /* where in it the archive begins (standard input may have been read from) */
	uint64_t at;     /* where the next read begins; of anything else: bytes read */
	uint64_t end;    /* of a regular file */
	char *buffer;
	uint64_t buffer_at; /* where in the file its bytes lie */
	size_t buffer_bytes;
	size_t taken_bytes; /* of the buffer, by archive_input_stream() */
	bool is_unread;     /* nobody has been given the buffer yet */
	bool is_manifest;   /* no archive but mtree(5): there is an archive_input_stream() instead of an archive */
	errcode_t error; /* of reading, which libarchive would only describe */
	locale_t own_locale, callers_locale;
};

/*
 * Opens an archive for reading, or finds that it is none but a manifest; descriptor must last as long. ENOMEM, errors
 * of reading, EBADMSG.
 */
MUST_CHECK errcode_t archive_input_open(struct archive_input *input, int descriptor);

/* The whole text of a manifest; the caller closes it before the input. NULL: no memory. */
FILE *archive_input_stream(struct archive_input *input);

/* Closes what was opened; the caller's locale is back. Also after a failed or no opening (zeroed). */
void archive_input_close(struct archive_input *input);

/* Is what libarchive handed out a part of the file as it is? Then *offset says where it lies. */
bool archive_input_locate(const struct archive_input *input, const void *bytes, size_t count, uint64_t *offset);

#endif
