/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/archive_kind.h"

#include <errno.h>
#include <string.h>

#include "source/mtree/mtree.h"

const struct archive_kind archive_kind_common = {
	.what = "a tar, cpio or zip archive",
	.formats = { archive_read_support_format_tar, archive_read_support_format_cpio,
	             archive_read_support_format_zip },
};

const struct archive_kind archive_kind_layer = {
	.what = "a tar archive",
	/* Docker writes a layer without files as one without a byte, too. */
	.formats = { archive_read_support_format_tar, archive_read_support_format_empty },
};

const struct archive_kind archive_kind_manifest = { .prefix = ARCHIVE_KIND_MANIFEST_PREFIX, .what = "a manifest" };

/*
 * These kinds have to be named by their prefix: few users need them, and their parsers in libarchive have had most of
 * its defects.
 */
static const struct archive_kind kinds[] = {
	{ .prefix = "tar", .what = "a tar archive", .formats = { archive_read_support_format_tar } },
	{ .prefix = "cpio", .what = "a cpio archive", .formats = { archive_read_support_format_cpio } },
	{ .prefix = "zip", .is_sought = true, .what = "a zip archive", .formats = { archive_read_support_format_zip } },
	{ .prefix = "7z",
	  .is_sought = true,
	  .what = "a 7z archive",
	  .is_limited = true,
	  .stores_utf16 = true,
	  .formats = { archive_read_support_format_7zip },
	  .signature = "7z\xbc\xaf\x27\x1c" },
	{ .prefix = "ar",
	  .what = "an ar archive",
	  .is_limited = true,
	  .formats = { archive_read_support_format_ar },
	  .signature = "!<arch>\n" },
	{ .prefix = "cab",
	  .what = "a cab archive",
	  .is_limited = true,
	  .stores_utf16 = true,
	  .formats = { archive_read_support_format_cab },
	  .signature = "MSCF" },
	{ .prefix = "iso",
	  .is_sought = true,
	  .what = "an ISO 9660 image",
	  .is_limited = true,
	  .stores_utf16 = true,
	  .formats = { archive_read_support_format_iso9660 },
	  .signature_at = 32769,
	  .signature = "CD001" },
	{ .prefix = "lha",
	  .what = "an lha archive",
	  .is_limited = true,
	  .formats = { archive_read_support_format_lha },
	  .signature_at = 2,
	  .signature = "-lh" },
	{ .prefix = "rar",
	  .what = "a rar archive",
	  .is_limited = true,
	  .stores_utf16 = true,
	  .formats = { archive_read_support_format_rar, archive_read_support_format_rar5 },
	  .signature = "Rar!" },
	{ .prefix = "rpm",
	  .what = "an rpm package",
	  .is_packed_by_filter = true,
	  .formats = { archive_read_support_format_cpio },
	  .signature = "\xed\xab\xee\xdb" },
	{ .prefix = "warc",
	  .what = "a WARC file",
	  .is_limited = true,
	  .formats = { archive_read_support_format_warc },
	  .signature = "WARC/" },
	{ .prefix = "xar",
	  .what = "a xar archive",
	  .is_limited = true,
	  .stores_utf16 = true,
#if STATIC_TOOLS
	  /* It needs libxml2, and that ICU's tables: a static e2populate would have 37.2 MB instead of 3.9 MB. */
	  .is_left_out = true,
#else
	  .formats = { archive_read_support_format_xar },
#endif
	  .signature = "xar!" },
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

static const struct packing rpm_packing = { .name = "rpm", .support = archive_read_support_filter_rpm };

const struct archive_kind *archive_kind_of_prefix(struct source *source)
{
	for (size_t i = 0; i < KINDS; i++)
		if (source_cut_prefix(source, kinds[i].prefix))
			return &kinds[i];
	return NULL;
}

static bool ends_with(const char *text, size_t bytes, const char *end)
{
	size_t end_bytes = strlen(end);

	return bytes >= end_bytes && !memcmp(text + bytes - end_bytes, end, end_bytes);
}

bool archive_kind_is_manifest_name(const char *file)
{
	return ends_with(file, packing_stem_bytes(file), ".mtree");
}

static bool begins_with(const char *bytes, size_t count, const char *signature)
{
	return count >= strlen(signature) && !memcmp(bytes, signature, strlen(signature));
}

const struct archive_kind *archive_kind_recognize(const char *bytes, size_t count)
{
	for (size_t i = 0; i < KINDS; i++)
		if (kinds[i].signature && count > kinds[i].signature_at &&
		    begins_with(bytes + kinds[i].signature_at, count - kinds[i].signature_at, kinds[i].signature))
			return &kinds[i];
	return mtree_recognize(bytes, count) ? &archive_kind_manifest : NULL;
}

#define TAR_HEADER_BYTES 512
#define TAR_CHECKSUM_AT 148
#define TAR_CHECKSUM_BYTES 8

/*
 * True for a tar header, by POSIX's rule (ustar): the sum of all bytes of the header, in which the checksum's field
 * counts as blanks.
 */
static bool is_tar_header(const uint8_t *bytes)
{
	const char *field = (const char *)bytes + TAR_CHECKSUM_AT;
	unsigned int sum = 0, stored = 0, digits = 0;

	for (unsigned int n = 0; n < TAR_HEADER_BYTES; n++)
		sum += n - TAR_CHECKSUM_AT < TAR_CHECKSUM_BYTES ? ' ' : bytes[n];
	for (unsigned int n = 0; n < TAR_CHECKSUM_BYTES && field[n] && (!digits || field[n] != ' '); n++) {
		if (field[n] == ' ')
			continue;
		if (field[n] < '0' || field[n] > '7')
			return false;
		stored = stored * 8 + (unsigned int)(field[n] - '0');
		digits++;
	}
	return digits && stored == sum;
}

bool archive_kind_is_cpio(const uint8_t *bytes, size_t count)
{
	static const char *const signatures[] = { "070701", "070702", "070707", "\xc7\x71", "\x71\xc7" };

	for (size_t i = 0; i < sizeof(signatures) / sizeof(*signatures); i++)
		if (begins_with((const char *)bytes, count, signatures[i]))
			return true;
	return false;
}

/* True for a member of tar, cpio or zip. */
static bool is_member(const uint8_t *bytes, size_t count)
{
	const char *text = (const char *)bytes;

	return begins_with(text, count, "PK\3\4") || begins_with(text, count, "PK\5\6") ||
	       archive_kind_is_cpio(bytes, count) || (count >= TAR_HEADER_BYTES && is_tar_header(bytes));
}

bool archive_kind_begins(const uint8_t *bytes, size_t count)
{
	const char *text = (const char *)bytes;

	return is_member(bytes, count) || packing_name(bytes, count) || archive_kind_recognize(text, count);
}

const struct packing *archive_kind_packing(const struct archive_kind *kind, const uint8_t *bytes, size_t count)
{
	if (!count || kind->is_converted || is_member(bytes, count))
		return NULL;
	const struct archive_kind *is = archive_kind_recognize((const char *)bytes, count);

	if (kind->is_packed_by_filter && is == kind)
		return &rpm_packing;
	const bool is_layer = kind == &archive_kind_layer;
	const struct packing *packing = packing_find(bytes, count, !is && !is_layer);

	return packing && is_layer && !packing->is_of_layers ? NULL : packing;
}

errcode_t archive_kind_support_formats(const struct archive_kind *kind, struct archive *archive)
{
	/* ARCHIVE_WARN: this libarchive was built without one of the format's compressions. */
	for (size_t i = 0; i < ARCHIVE_KIND_FORMATS && kind->formats[i]; i++)
		if (kind->formats[i](archive) < ARCHIVE_WARN)
			return ENOMEM;
	return archive_read_support_format_raw(archive) < ARCHIVE_WARN ? ENOMEM : 0;
}
