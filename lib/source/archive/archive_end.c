/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/archive_end.h"

#include <string.h>

#include "source/archive/iso.h"
#include "support/little_endian.h"

/* An archive's bytes at some place, and zeros after its end. */
struct glimpse {
	uint8_t bytes[64];
};

static errcode_t look(const struct archive_input *input, uint64_t bytes, uint64_t at, struct glimpse *glimpse)
{
	const size_t room = sizeof(glimpse->bytes);
	const size_t count = at >= bytes ? 0 : bytes - at < room ? (size_t)(bytes - at) : room;

	*glimpse = (struct glimpse){ 0 };
	return count ? archive_input_read_back(input, glimpse->bytes, count, at + (input->store ? 0 : input->start)) :
	               0;
}

#define RAR5_END_BLOCK 5

/* libarchive has read the checksum of the block that is the last one, but not its size and type, and what they say. */
static errcode_t find_rar5_end(const struct archive_input *input, uint64_t bytes, uint64_t *end)
{
	struct glimpse block;
	errcode_t error = look(input, bytes, *end, &block);

	if (!error && block.bytes[1] == RAR5_END_BLOCK)
		*end += 1u + block.bytes[0];
	return error;
}

#define SEVEN_ZIP_SIGNATURE "7z\xbc\xaf\x27\x1c"
#define SEVEN_ZIP_HEADER_BYTES 32u

/* Its beginning says where its end is. libarchive does not look there if it is empty. */
static errcode_t find_7z_end(const struct archive_input *input, uint64_t bytes, uint64_t *end)
{
	struct glimpse header;
	errcode_t error = look(input, bytes, 0, &header);
	const uint8_t *begin = header.bytes;

	/* A program that unpacks it may lie before it. */
	if (error || memcmp(begin, SEVEN_ZIP_SIGNATURE, strlen(SEVEN_ZIP_SIGNATURE)) != 0)
		return error;
	const uint64_t at = little_endian(begin + 12, 8), count = little_endian(begin + 20, 8);

	if (at < bytes && count < bytes && SEVEN_ZIP_HEADER_BYTES + at + count > *end)
		*end = SEVEN_ZIP_HEADER_BYTES + at + count;
	return 0;
}

#define CAB_HAS_RESERVE 4
#define CAB_SIGNATURE_BYTES 20

/* A cabinet says how long it is, and may have room in its header that says where it is signed: after its end. */
static errcode_t find_cab_end(const struct archive_input *input, uint64_t bytes, uint64_t *end)
{
	struct glimpse header;
	errcode_t error = look(input, bytes, 0, &header);
	const uint8_t *begin = header.bytes;

	if (error || memcmp(begin, "MSCF", 4) != 0)
		return error;
	const bool is_signed =
		little_endian(begin + 30, 2) & CAB_HAS_RESERVE && little_endian(begin + 36, 2) >= CAB_SIGNATURE_BYTES;
	const uint64_t whole = little_endian(begin + 8, 4);
	const uint64_t signature =
		is_signed ? (uint64_t)little_endian(begin + 44, 4) + little_endian(begin + 48, 4) : 0;

	*end = whole > *end ? whole : *end;
	*end = signature > *end ? signature : *end;
	return 0;
}

/* bsdtar writes as many bytes too many as its largest checksum has. */
#define XAR_CHECKSUM_BYTES 20

/* Packages of macOS have a ticket of its notary after their ends, which begins so. */
static errcode_t find_xar_end(const struct archive_input *input, uint64_t bytes, uint64_t *end)
{
	struct glimpse ticket;
	errcode_t error = look(input, bytes, *end, &ticket);

	*end = memcmp(ticket.bytes, "t8lr", 4) ? *end + XAR_CHECKSUM_BYTES : bytes;
	return error;
}

errcode_t archive_end_find(const struct archive_input *input, uint64_t bytes, uint64_t *end)
{
	const uint64_t position = archive_input_position(input);

	*end = position > input->reached ? position : input->reached;
	switch (archive_format(input->archive) & ARCHIVE_FORMAT_BASE_MASK) {
	case ARCHIVE_FORMAT_ISO9660:
		return iso_find_end(input, end);
	case ARCHIVE_FORMAT_RAR_V5:
		return find_rar5_end(input, bytes, end);
	case ARCHIVE_FORMAT_7ZIP:
		return find_7z_end(input, bytes, end);
	case ARCHIVE_FORMAT_CAB:
		return find_cab_end(input, bytes, end);
	case ARCHIVE_FORMAT_XAR:
		return find_xar_end(input, bytes, end);
	default:
		return 0;
	}
}
