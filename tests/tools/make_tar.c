/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes tar archives that no archiver would, to standard output: make_tar MEMBER...
 *
 * A member is one argument, "TYPE NAME KEY=VALUE...": TYPE as in tar's header, but f for a regular file, h for a hard
 * link, l for a symlink, d for a directory, c, b, p. Keys: link, mode (octal), uid, gid, mtime, major, minor; data: the
 * content; size: what the header says instead of data's length; pax.KEYWORD: a record before it; sum: a wrong
 * checksum. "g NAME pax.KEYWORD=VALUE..." is a global extended header. "end" writes what ends an archive, "cut" nothing
 * but ends the arguments.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cleanup.h"

#define BLOCK 512

struct member {
	char type;
	const char *name, *link, *data;
	unsigned long mode, uid, gid, mtime, major, minor, size;
	int wrong_sum;
	char pax[65536];
	size_t pax_bytes;
};

static void fail(const char *what)
{
	fprintf(stderr, "make_tar: %s\n", what);
	exit(EXIT_FAILURE);
}

static void write_padded(const char *bytes, size_t count)
{
	static const char zeros[BLOCK];

	fwrite(bytes, 1, count, stdout);
	if (count % BLOCK)
		fwrite(zeros, 1, BLOCK - count % BLOCK, stdout);
}

static void put(char *header, size_t at, const char *text, size_t most)
{
	size_t bytes = strlen(text);

	memcpy(header + at, text, bytes < most ? bytes : most);
}

static void write_header(const struct member *member, char type, const char *name, unsigned long size)
{
	char header[BLOCK] = "", number[32];
	unsigned int sum = 0;
	static const struct {
		size_t at;
		int digits;
	} fields[] = { { 100, 7 }, { 108, 7 }, { 116, 7 }, { 124, 11 }, { 136, 11 }, { 329, 7 }, { 337, 7 } };
	const unsigned long values[] = { member->mode,  member->uid,   member->gid,  size,
		                         member->mtime, member->major, member->minor };

	put(header, 0, name, 100);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		snprintf(number, sizeof(number), "%0*lo", fields[i].digits, values[i]);
		put(header, fields[i].at, number, (size_t)fields[i].digits);
	}
	header[156] = type;
	put(header, 157, member->link, 100);
	memcpy(header + 257, "ustar\00000", 8);
	memset(header + 148, ' ', 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (unsigned char)header[i];
	snprintf(number, sizeof(number), "%06o", sum + (unsigned int)member->wrong_sum);
	memcpy(header + 148, number, 7);
	fwrite(header, 1, BLOCK, stdout);
}

/* "LENGTH KEYWORD=VALUE\n", where LENGTH counts itself. */
static void add_pax(struct member *member, const char *record)
{
	size_t bytes = strlen(record) + 2, length = bytes;
	char digits[32];

	for (int i = 0; i < 3; i++)
		length = bytes + (size_t)snprintf(digits, sizeof(digits), "%zu", length);
	if (member->pax_bytes + length + 1 > sizeof(member->pax))
		fail("too many pax records");
	member->pax_bytes += (size_t)sprintf(member->pax + member->pax_bytes, "%zu %s\n", length, record);
}

static void set(struct member *member, const char *key, const char *value, char *record)
{
	static const char *const numbers[] = { "mode", "uid", "gid", "mtime", "major", "minor", "size" };
	unsigned long *const fields[] = { &member->mode,  &member->uid,   &member->gid, &member->mtime,
		                          &member->major, &member->minor, &member->size };

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (!strcmp(key, numbers[i])) {
			*fields[i] = strtoul(value, NULL, i ? 10 : 8);
			return;
		}
	if (!strncmp(key, "pax.", 4))
		add_pax(member, record + 4);
	else if (!strcmp(key, "link"))
		member->link = value;
	else if (!strcmp(key, "data"))
		member->data = value;
	else if (!strcmp(key, "sum"))
		member->wrong_sum = 1;
	else
		fail(key);
}

static void write_member(char *text)
{
	static struct member member;
	static const char types[] = "fhlcbdp";
	const char *type;

	member = (struct member){ .link = "", .data = "", .mode = 0644, .size = ~0ul };
	member.type = *strtok(text, " ");
	member.name = strtok(NULL, " ");
	for (char *record; (record = strtok(NULL, " "));) {
		SCOPE_FREE char *key = strdup(record);
		char *equals = strchr(key, '=');

		if (!equals || !member.name)
			fail("not KEY=VALUE");
		*equals = '\0';
		set(&member, key, strchr(record, '=') + 1, record);
	}
	if (!member.name)
		fail("a member has no name");
	type = strchr(types, member.type);
	if (member.pax_bytes) {
		write_header(&member, member.type == 'g' ? 'g' : 'x', "pax", member.pax_bytes);
		write_padded(member.pax, member.pax_bytes);
	}
	if (member.type == 'g')
		return;
	write_header(&member, type ? (char)('0' + (type - types)) : member.type, member.name,
	             member.size == ~0ul ? strlen(member.data) : member.size);
	write_padded(member.data, strlen(member.data));
}

int main(int count, char **arguments)
{
	static const char zeros[2 * BLOCK];

	for (int i = 1; i < count; i++) {
		if (!strcmp(arguments[i], "cut"))
			return 0;
		if (!strcmp(arguments[i], "end"))
			fwrite(zeros, 1, sizeof(zeros), stdout);
		else
			write_member(arguments[i]);
	}
	return 0;
}
