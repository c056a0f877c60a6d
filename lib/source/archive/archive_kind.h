/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an archive is read as. This depends on how the source was named, never on its bytes (but an image of ext4 is
 * told from archives by them: source/image/image_recognition.h): otherwise the author of an
 * archive could make it a manifest, whose lines name files of this host, or choose any of libarchive's parsers. Other
 * programs are never run to unpack anything.
 */
#pragma once

#include <archive.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/kind/source_kind.h"
#include "unpack/packing.h"

#define ARCHIVE_KIND_MANIFEST_PREFIX "mtree"
#define ARCHIVE_KIND_FORMATS 3

struct archive_kind {
	const char *prefix;       /* NAME:FILE says that FILE is one; NULL: nothing does */
	const char *what;         /* with its article, for messages */
	bool stores_utf16;        /* names, which libarchive can convert in a UTF-8 locale only */
	bool is_limited;          /* it is read by a child process (source/archive/limited_reader.h) */
	bool is_converted;        /* by that one: nothing is unpacked */
	bool is_packed_by_filter; /* by rpm's, which libarchive has as a filter */
	bool is_left_out;         /* of the static tools */
	bool is_sought;           /* what is in it is said at its end, or lies in any order */
	int (*formats[ARCHIVE_KIND_FORMATS])(struct archive *); /* libarchive's; none: a manifest */

	/* What it begins with, as far as that is known by a few bytes; only messages depend on it. */
	size_t signature_at;
	const char *signature; /* NULL: unknown */
};

extern const struct archive_kind archive_kind_common; /* tar, cpio or zip */
extern const struct archive_kind
	archive_kind_layer; /* of an OCI image: tar, of which only gzip and zstd are unpacked */
extern const struct archive_kind archive_kind_manifest; /* mtree(5), see source/manifest/manifest_source.c */

/* The kind that a prefix of the source's name says, which is cut off; NULL: no prefix says it. */
const struct archive_kind *archive_kind_of_prefix(struct source *source);

/* Does the file have a manifest's name: NAME.mtree, perhaps followed by the ending of its packer? */
bool archive_kind_is_manifest_name(const char *file);

/* The kind that has to be named and whose archives begin so; NULL: unknown. */
const struct archive_kind *archive_kind_recognize(const char *bytes, size_t count);

/*
 * Do these bytes, at least 512 of a file's beginning, begin an archive that is taken without a prefix: a tar header
 * with a valid checksum, a member of cpio or zip, what is packed? Or one that needs a prefix?
 */
bool archive_kind_begins(const uint8_t *bytes, size_t count);

/* Do they begin a member of cpio? */
bool archive_kind_is_cpio(const uint8_t *bytes, size_t count);

/*
 * How a file of this kind is packed that begins with these bytes, as many as are at hand; NULL: not at all, or not as
 * what is unpacked here.
 */
const struct packing *archive_kind_packing(const struct archive_kind *kind, const uint8_t *bytes, size_t count);

/* Lets libarchive read archives of this kind, and bytes of any other as one member of its format "raw". ENOMEM. */
MUST_CHECK errcode_t archive_kind_support_formats(const struct archive_kind *kind, struct archive *archive);
