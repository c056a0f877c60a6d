/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unpack/packing.h"

#include <string.h>

#include "support/little_endian.h"

static const struct packing zstd = { "zstd", ".zst", "\x28\xb5\x2f\xfd", archive_read_support_filter_zstd, true };
static const struct packing lzma = { "lzma", ".lzma", NULL, archive_read_support_filter_lzma, false };

static const struct packing packings[] = {
	{ "gzip", ".gz", "\x1f\x8b", archive_read_support_filter_gzip, true },
	{ "xz", ".xz",
	  "\xfd"
	  "7zXZ",
	  archive_read_support_filter_xz, false },
	{ "bzip2", ".bz2", "BZh", archive_read_support_filter_bzip2, false },
	{ "lz4", ".lz4", "\x04\x22\x4d\x18", archive_read_support_filter_lz4, false },
	{ "lz4", NULL, "\x02\x21\x4c\x18", archive_read_support_filter_lz4, false }, /* as the kernel has it */
	{ "lzip", ".lz", "LZIP", archive_read_support_filter_lzip, false },
	{ "compress", ".Z", "\x1f\x9d", archive_read_support_filter_compress, false },
	{ "lzop", NULL, "\x89LZO", NULL, false },
	{ "lrzip", NULL, "LRZI", NULL, false },
	{ "grzip", NULL, "GRZipII", NULL, false },
};

#define PACKINGS (sizeof(packings) / sizeof(*packings))

static bool begins_with(const uint8_t *bytes, size_t count, const char *signature)
{
	return count >= strlen(signature) && !memcmp(bytes, signature, strlen(signature));
}

static const struct packing *find_signature(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < PACKINGS; i++)
		if (begins_with(bytes, count, packings[i].signature))
			return &packings[i];
	return begins_with(bytes, count, zstd.signature) ? &zstd : NULL;
}

const char *packing_name(const uint8_t *bytes, size_t count)
{
	const struct packing *packing = find_signature(bytes, count);

	return packing ? packing->name : NULL;
}

#define LZMA_HEADER_BYTES 13

/*
 * xz(1) takes a file for one with possible properties, a dictionary of 2^n or 2^n + 2^(n-1) bytes, and a size that is
 * unknown or below 256 GiB; and the first byte of what follows is always 0.
 */
bool packing_is_lzma(const uint8_t *bytes, size_t count)
{
	if (count <= LZMA_HEADER_BYTES || bytes[0] >= 9 * 5 * 5 || bytes[LZMA_HEADER_BYTES])
		return false;
	const uint32_t dictionary = (uint32_t)little_endian(bytes + 1, 4);
	const uint32_t above = dictionary & (dictionary - 1); /* without its lowest bit */
	const uint64_t size = little_endian(bytes + 5, 8);

	return dictionary && (dictionary == UINT32_MAX || !above || above == (dictionary ^ above) << 1) &&
	       (size == UINT64_MAX || size < UINT64_C(256) << 30);
}

/* A file of zstd may begin with frames that are to be skipped. */
static bool is_skippable(const uint8_t *bytes, size_t count)
{
	return count >= 4 && (bytes[0] & 0xf0) == 0x50 && !memcmp(bytes + 1, "\x2a\x4d\x18", 3);
}

const struct packing *packing_find(const uint8_t *bytes, size_t count, bool may_be_lzma)
{
	const struct packing *packing = is_skippable(bytes, count) ? &zstd : find_signature(bytes, count);

	if (!packing && may_be_lzma && packing_is_lzma(bytes, count))
		packing = &lzma;
	return packing && packing->support ? packing : NULL;
}

size_t packing_stem_bytes(const char *file)
{
	const size_t bytes = strlen(file);

	for (size_t i = 0; i < PACKINGS + 2; i++) {
		const char *suffix = i < PACKINGS ? packings[i].suffix : i == PACKINGS ? zstd.suffix : lzma.suffix;

		if (suffix && bytes >= strlen(suffix) && !strcmp(file + bytes - strlen(suffix), suffix))
			return bytes - strlen(suffix);
	}
	return bytes;
}
