/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/tar_header.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "support/vector.h"

/* The fields that we fill in of a header block. */
struct ustar {
	char name[100];
	char mode[8], uid[8], gid[8];
	char size[12], mtime[12];
	char checksum[8];
	char type;
	char link[100];
	char magic[6], version[2];
	char user[32], group[32];
	char major[8], minor[8];
	char prefix[155];
	char rest[12];
};

_Static_assert(sizeof(struct ustar) == TAR_BLOCK_BYTES, "a header is a block");

/* The largest numbers that 7 and 11 octal digits can hold. */
#define LARGEST_SHORT 07777777u
#define LARGEST_LONG UINT64_C(077777777777)

static unsigned int digits_of(size_t number)
{
	unsigned int digits = 1;

	while (number /= 10)
		digits++;
	return digits;
}

errcode_t tar_record_add(struct tar_records *records, const char *keyword, const void *value, size_t value_bytes)
{
	/* The length counts its own digits, too. */
	size_t bytes = strlen(keyword) + value_bytes + 3, length = bytes + digits_of(bytes);

	length = bytes + digits_of(length);
	errcode_t error =
		vector_reserve(&records->bytes, &records->capacity, records->count + length + 1, sizeof(char));

	if (error)
		return error;
	char *end = records->bytes + records->count;

	end += sprintf(end, "%zu %s=", length, keyword);
	if (value_bytes)
		memcpy(end, value, value_bytes);
	end[value_bytes] = '\n';
	records->count += length;
	return 0;
}

errcode_t tar_record_add_number(struct tar_records *records, const char *keyword, uint64_t number)
{
	char text[24];

	return tar_record_add(records, keyword, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, number));
}

errcode_t tar_record_add_time(struct tar_records *records, const char *keyword, int64_t seconds, uint32_t nanoseconds)
{
	bool is_below = seconds < 0 && nanoseconds;
	uint64_t whole = seconds < 0 ? -(uint64_t)seconds - is_below : (uint64_t)seconds;
	uint32_t fraction = is_below ? 1000000000u - nanoseconds : nanoseconds;
	char text[40];
	int count = snprintf(text, sizeof(text), "%s%" PRIu64 ".%09" PRIu32, seconds < 0 ? "-" : "", whole, fraction);

	while (text[count - 1] == '0')
		count--;
	count -= text[count - 1] == '.';
	return tar_record_add(records, keyword, text, (size_t)count);
}

static bool is_ascii(const char *text)
{
	while (*text && !(*text & 0x80))
		text++;
	return !*text;
}

/*
 * Names in records are bytes, whatever the locale; without this word they would be UTF-8. It is left out where it makes
 * no difference, since GNU tar warns of it for each member, and takes names for bytes anyway.
 */
static errcode_t add_charset(struct tar_records *records, bool is_needed)
{
	return is_needed ? tar_record_add(records, "hdrcharset", "BINARY", strlen("BINARY")) : 0;
}

static errcode_t add_names(struct tar_records *records, const struct tar_member *member)
{
	const char *keyword = member->is_sparse ? "GNU.sparse.name" : "path";
	bool has_path = member->is_sparse || strlen(member->path) > sizeof(((struct ustar *)NULL)->name);
	bool has_link = member->link && strlen(member->link) > sizeof(((struct ustar *)NULL)->link);
	errcode_t error =
		add_charset(records, (has_path && !is_ascii(member->path)) || (has_link && !is_ascii(member->link)));

	if (!error && has_path)
		error = tar_record_add(records, keyword, member->path, strlen(member->path));
	if (!error && has_link)
		error = tar_record_add(records, "linkpath", member->link, strlen(member->link));
	return error;
}

errcode_t tar_records_complete(struct tar_records *records, const struct tar_member *member)
{
	const struct {
		const char *keyword;
		uint64_t number, most;
	} numbers[] = { { "uid", member->uid, LARGEST_SHORT },
		        { "gid", member->gid, LARGEST_SHORT },
		        { "size", member->size_bytes, LARGEST_LONG },
		        { "SCHILY.devmajor", member->major, LARGEST_SHORT },
		        { "SCHILY.devminor", member->minor, LARGEST_SHORT } };
	errcode_t error = add_names(records, member);

	for (size_t i = 0; !error && i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i].number > numbers[i].most)
			error = tar_record_add_number(records, numbers[i].keyword, numbers[i].number);
	if (!error &&
	    (member->mtime_nanoseconds || member->mtime_seconds < 0 || (uint64_t)member->mtime_seconds > LARGEST_LONG))
		error = tar_record_add_time(records, "mtime", member->mtime_seconds, member->mtime_nanoseconds);
	if (error || !member->is_sparse)
		return error;
	error = tar_record_add_number(records, "GNU.sparse.major", 1);
	if (!error)
		error = tar_record_add_number(records, "GNU.sparse.minor", 0);
	return error ? error : tar_record_add_number(records, "GNU.sparse.realsize", member->real_bytes);
}

/* A number that is too large has a record, which overrides this field. */
static void put_octal(char *field, size_t bytes, uint64_t number, uint64_t most)
{
	char text[24];

	snprintf(text, sizeof(text), "%0*" PRIo64, (int)bytes - 1, number <= most ? number : 0);
	memcpy(field, text, bytes - 1);
}

static void put_text(char *field, size_t bytes, const char *text)
{
	size_t count = strnlen(text, bytes);

	memcpy(field, text, count);
}

static void finish_block(struct ustar *header, const struct tar_member *member, uint64_t size_bytes)
{
	uint64_t seconds = member->mtime_seconds < 0 ? 0 : (uint64_t)member->mtime_seconds;
	unsigned int sum = 0;

	put_octal(header->size, sizeof(header->size), size_bytes, LARGEST_LONG);
	put_octal(header->mtime, sizeof(header->mtime), seconds, LARGEST_LONG);
	memcpy(header->magic, "ustar", sizeof(header->magic));
	memcpy(header->version, "00", sizeof(header->version));
	memset(header->checksum, ' ', sizeof(header->checksum));
	for (size_t i = 0; i < sizeof(*header); i++)
		sum += ((const uint8_t *)header)[i];
	put_octal(header->checksum, sizeof(header->checksum) - 1, sum, LARGEST_SHORT);
	header->checksum[6] = '\0';
}

void tar_block_fill(const struct tar_member *member, uint8_t block[TAR_BLOCK_BYTES])
{
	struct ustar header = { .type = member->type };

	put_text(header.name, sizeof(header.name), member->path);
	put_octal(header.mode, sizeof(header.mode), member->mode, LARGEST_SHORT);
	put_octal(header.uid, sizeof(header.uid), member->uid, LARGEST_SHORT);
	put_octal(header.gid, sizeof(header.gid), member->gid, LARGEST_SHORT);
	if (member->link)
		put_text(header.link, sizeof(header.link), member->link);
	put_octal(header.major, sizeof(header.major), member->major, LARGEST_SHORT);
	put_octal(header.minor, sizeof(header.minor), member->minor, LARGEST_SHORT);
	finish_block(&header, member, member->size_bytes);
	memcpy(block, &header, sizeof(header));
}

void tar_records_block_fill(const struct tar_member *member, size_t records_bytes, uint8_t block[TAR_BLOCK_BYTES])
{
	struct ustar header = { .type = 'x' };

	memcpy(header.name, "PaxHeader", strlen("PaxHeader"));
	put_octal(header.mode, sizeof(header.mode), 0644, LARGEST_SHORT);
	put_octal(header.uid, sizeof(header.uid), 0, LARGEST_SHORT);
	put_octal(header.gid, sizeof(header.gid), 0, LARGEST_SHORT);
	finish_block(&header, member, records_bytes);
	memcpy(block, &header, sizeof(header));
}
