/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tar_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "unpack/inflate.h"

#define BLOCK_BYTES 512u
#define CHECKSUM_AT 148
#define SIZE_AT 124
#define SIZE_DIGITS 11
#define MAGIC_AT 257

/* Text that grows. */
struct text {
	FILE *stream;
	char *bytes;
	size_t count;
};

static void text_open(struct text *text)
{
	text->stream = open_memstream(&text->bytes, &text->count);
	FUZZ_CHECK(text->stream);
}

static void text_close(struct text *text)
{
	fclose(text->stream);
	free(text->bytes);
}

static void set_checksum(uint8_t *header)
{
	unsigned int sum = 0;

	memset(header + CHECKSUM_AT, ' ', 8);
	for (size_t n = 0; n < BLOCK_BYTES; n++)
		sum += header[n];
	snprintf((char *)header + CHECKSUM_AT, 8, "%06o", sum);
}

static void write_padded(FILE *stream, const void *bytes, size_t count)
{
	static const uint8_t zeros[BLOCK_BYTES];

	fwrite(bytes, 1, count, stream);
	fwrite(zeros, 1, (BLOCK_BYTES - count % BLOCK_BYTES) % BLOCK_BYTES, stream);
}

/* A member while its lines are read. */
struct member {
	uint8_t header[BLOCK_BYTES];
	bool has_size; /* one of its own */
	struct text records, contents;
};

static void start_header(uint8_t *header, char type, const char *name, size_t name_bytes)
{
	memset(header, 0, BLOCK_BYTES);
	memcpy(header, name, name_bytes < 100 ? name_bytes : 100);
	memcpy(header + 100, "0000644\0000000000\0000000000\00000000000000\00000000000000", 48);
	header[156] = (uint8_t)type;
	memcpy(header + MAGIC_AT, "ustar\00000", 8);
}

static void write_member(FILE *stream, uint8_t *header, bool has_size, const struct text *contents)
{
	if (!has_size)
		snprintf((char *)header + SIZE_AT, SIZE_DIGITS + 1, "%011zo", contents->count);
	set_checksum(header);
	write_padded(stream, header, BLOCK_BYTES);
	write_padded(stream, contents->bytes, contents->count);
}

static void end_member(struct member *member, FILE *stream)
{
	uint8_t extended[BLOCK_BYTES];

	fflush(member->records.stream);
	fflush(member->contents.stream);
	if (member->records.count) {
		start_header(extended, 'x', "x", 1);
		write_member(stream, extended, false, &member->records);
	}
	write_member(stream, member->header, member->has_size, &member->contents);
	text_close(&member->records);
	text_close(&member->contents);
}

/* A record counts its own length, digits and all. */
static void add_record(FILE *stream, const char *text, size_t count)
{
	size_t length = count + 3, digits = 1;

	for (size_t most = 10; length + digits - 1 >= most; most *= 10)
		digits++;
	fprintf(stream, "%zu ", length + digits - 1);
	fwrite(text, 1, count, stream);
	fputc('\n', stream);
}

static void set_bytes(struct member *member, const char *text, size_t count)
{
	size_t at = 0, digits = 0;

	while (digits < count && digits < 3 && text[digits] >= '0' && text[digits] <= '9')
		at = at * 10 + (size_t)(text[digits++] - '0');
	if (!digits || digits == count || at >= BLOCK_BYTES)
		return;
	text += digits + 1;
	count -= digits + 1;
	count = count < BLOCK_BYTES - at ? count : BLOCK_BYTES - at;
	memcpy(member->header + at, text, count);
	member->has_size |= at <= SIZE_AT && at + count > SIZE_AT;
}

static void take_line(struct member *member, bool *has_member, FILE *stream, const char *line, size_t count)
{
	bool is_option = count && strchr(">+=|", *line);

	if (!count || (is_option && !*has_member))
		return;
	if (!is_option) {
		if (*has_member)
			end_member(member, stream);
		*has_member = true;
		*member = (struct member){ 0 };
		start_header(member->header, *line, line + 1, count - 1);
		text_open(&member->records);
		text_open(&member->contents);
	} else if (*line == '>') {
		memcpy(member->header + 157, line + 1, count - 1 < 100 ? count - 1 : 100);
	} else if (*line == '+') {
		add_record(member->records.stream, line + 1, count - 1);
	} else if (*line == '=') {
		set_bytes(member, line + 1, count - 1);
	} else {
		fwrite(line + 1, 1, count - 1, member->contents.stream);
		fputc('\n', member->contents.stream);
	}
}

static void write_members(FILE *stream, const char *text, size_t count)
{
	static const uint8_t end[2 * BLOCK_BYTES];
	struct member member;
	bool has_member = false;

	while (count) {
		const char *newline = memchr(text, '\n', count);
		size_t line = newline ? (size_t)(newline - text) : count;

		take_line(&member, &has_member, stream, text, line);
		text += line + !!newline;
		count -= line + !!newline;
	}
	if (has_member)
		end_member(&member, stream);
	fwrite(end, 1, sizeof(end), stream);
}

static void write_number(FILE *stream, uint32_t number, unsigned int bytes)
{
	for (; bytes--; number >>= 8)
		fputc((int)(number & 0xff), stream);
}

/* gzip without compressing. */
static void write_packed(FILE *stream, const char *bytes, size_t count)
{
	static const char header[] = { 0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, 3 };

	fwrite(header, 1, sizeof(header), stream);
	for (size_t at = 0, part; at < count; at += part) {
		part = count - at < UINT16_MAX ? count - at : UINT16_MAX;
		fputc(at + part == count, stream);
		write_number(stream, (uint32_t)part, 2);
		write_number(stream, ~(uint32_t)part, 2);
		fwrite(bytes + at, 1, part, stream);
	}
	write_number(stream, inflate_checksum(0, bytes, count), 4);
	write_number(stream, (uint32_t)count, 4);
}

static char *finish(struct text *text, size_t *count)
{
	FUZZ_CHECK(fclose(text->stream) == 0);
	*count = text->count;
	return text->bytes;
}

static bool begins_with(const uint8_t *bytes, size_t count, const char *line)
{
	return count >= strlen(line) && !memcmp(bytes, line, strlen(line));
}

static uint8_t *mended(const uint8_t *bytes, size_t count)
{
	uint8_t *copy = malloc(count + 1);

	FUZZ_CHECK(copy);
	memcpy(copy, bytes, count);
	for (size_t at = 0; count - at >= BLOCK_BYTES; at += BLOCK_BYTES)
		if (!memcmp(copy + at + MAGIC_AT, "ustar", 5))
			set_checksum(copy + at);
	return copy;
}

uint8_t *tar_of_text(const uint8_t *bytes, size_t count, size_t *archive_bytes)
{
	static const char plain[] = "tar\n", packed[] = "tar.gz\n";
	bool is_packed = begins_with(bytes, count, packed);
	size_t first = is_packed ? strlen(packed) : strlen(plain);
	struct text archive, all;

	if (!is_packed && !begins_with(bytes, count, plain)) {
		*archive_bytes = count;
		return mended(bytes, count);
	}
	text_open(&archive);
	write_members(archive.stream, (const char *)bytes + first, count - first);
	char *made = finish(&archive, archive_bytes);

	if (!is_packed)
		return (uint8_t *)made;
	text_open(&all);
	write_packed(all.stream, made, *archive_bytes);
	free(made);
	return (uint8_t *)finish(&all, archive_bytes);
}
