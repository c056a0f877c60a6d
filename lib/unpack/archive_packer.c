/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unpack/archive_packer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct packer {
	struct archive *archive; /* borrowed */
	const uint8_t *bytes;    /* libarchive has handed these out, and they have not been copied yet */
	size_t count;
};

int archive_packer_block(struct archive *archive, const void **bytes, size_t *count)
{
	la_int64_t offset;
	int result;

	*count = 0;
	do
		result = archive_read_data_block(archive, bytes, count, &offset);
	while (result == ARCHIVE_OK && !*count);
	if (result == ARCHIVE_EOF)
		*count = 0;
	return result == ARCHIVE_EOF ? ARCHIVE_OK : result;
}

static errcode_t open_state(struct decoder *decoder, void *context)
{
	struct packer *packer = calloc(1, sizeof(*packer));

	decoder->state = packer;
	if (packer)
		packer->archive = context;
	return packer ? 0 : ENOMEM;
}

static void close_state(struct decoder *decoder)
{
	free(decoder->state);
}

static errcode_t failure(struct decoder *decoder, struct archive *archive)
{
	const char *reason = archive_error_string(archive);

	switch (archive_errno(archive)) {
	case ENOMEM:
	case EINTR:
	case ECANCELED:
		return archive_errno(archive);
	default:
		return decoder_damaged(decoder, reason ? reason : "it is damaged");
	}
}

static errcode_t run(struct decoder *decoder, uint8_t *bytes, size_t room, size_t *written)
{
	struct packer *packer = decoder->state;

	decoder->place = DECODER_IN_MEMBER;
	while (*written < room) {
		size_t part = room - *written;

		if (!packer->count &&
		    archive_packer_block(packer->archive, (const void **)&packer->bytes, &packer->count) != ARCHIVE_OK)
			return failure(decoder, packer->archive);
		if (!packer->count) {
			decoder->place = DECODER_AT_END;
			return 0;
		}
		part = part < packer->count ? part : packer->count;
		memcpy(bytes + *written, packer->bytes, part);
		packer->bytes += part;
		packer->count -= part;
		*written += part;
	}
	return 0;
}

const struct decoder_format archive_packer_format = {
	.name = "libarchive",
	.open = open_state,
	.close = close_state,
	.run = run,
};

const struct decoder_format *archive_packer_format_of(const struct packing *packing)
{
	if (!packing)
		return &plain_format;
	if (packing->support == archive_read_support_filter_gzip)
		return &gzip_format;
	if (packing->support == archive_read_support_filter_zstd && zstd_format)
		return zstd_format;
	return packing->support == archive_read_support_filter_xz && xz_format ? xz_format : &archive_packer_format;
}
