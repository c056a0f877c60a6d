/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes one JSON document (RFC 8259) to a stream, and keeps only where a comma is due. Members come in the order of
 * the calls, with an indent of two blanks a level.
 *
 * The key is NULL for the outermost value and the items of an array. Errors stay in the stream and are found by
 * json_end(). One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "support/problem.h"

#define JSON_MAX_DEPTH 16

/* Zero-initialise but for the stream: `struct json json = { .stream = stdout };`. */
struct json {
	FILE *stream;
	bool is_in_html;                      /* the stream is a page: no < > & in it */
	unsigned int depth;                   /* objects and arrays that are open */
	bool has_members[JSON_MAX_DEPTH + 1]; /* by depth */
	bool is_line[JSON_MAX_DEPTH + 1];     /* by depth: without line breaks */
};

void json_open_object(struct json *json, const char *key);
void json_open_array(struct json *json, const char *key);

/* Opens an object that is written on one line with all of its members: for the rows of long arrays. */
void json_open_row(struct json *json, const char *key);

void json_close_object(struct json *json);
void json_close_array(struct json *json);

void json_unsigned(struct json *json, const char *key, uint64_t value);

void json_boolean(struct json *json, const char *key, bool value);

/* Writes `decimals` digits after the point; a value that is not finite becomes null. */
void json_number(struct json *json, const char *key, double value, unsigned int decimals);

/*
 * Writes any bytes, since file names need not be text. Each byte that is not part of UTF-8 becomes U+FFFD. Then, so
 * that nothing is lost, a member KEY_hex with all bytes in hexadecimal digits follows, if there is a key.
 */
void json_bytes(struct json *json, const char *key, const char *bytes, size_t count);

/* The same for a text that ends with a NUL byte; NULL becomes null. */
void json_string(struct json *json, const char *key, const char *text);

/* A member that has no members itself, made by one of the macros below. */
struct json_member {
	const char *key;
	enum { JSON_IS_COUNT, JSON_IS_NUMBER, JSON_IS_TEXT, JSON_IS_BOOLEAN } kind;
	uint64_t count; /* of a boolean 0 or 1, of a number its decimals */
	double number;
	const char *text;
};

/* As json_unsigned(), json_number(), json_string() and json_boolean() write it. */
#define JSON_COUNT(name, value)                                                                                        \
	{                                                                                                              \
		.key = (name), .kind = JSON_IS_COUNT, .count = (value)                                                 \
	}
#define JSON_NUMBER(name, value, decimals)                                                                             \
	{                                                                                                              \
		.key = (name), .kind = JSON_IS_NUMBER, .number = (value), .count = (decimals)                          \
	}
#define JSON_TEXT(name, value)                                                                                         \
	{                                                                                                              \
		.key = (name), .kind = JSON_IS_TEXT, .text = (value)                                                   \
	}
#define JSON_BOOLEAN(name, value)                                                                                      \
	{                                                                                                              \
		.key = (name), .kind = JSON_IS_BOOLEAN, .count = (value)                                               \
	}

#define JSON_LIST(...)                                                                                                 \
	(const struct json_member[]){ __VA_ARGS__ },                                                                   \
		sizeof((const struct json_member[]){ __VA_ARGS__ }) / sizeof(struct json_member)

/* Writes several members: json_members(json, JSON_TEXT("path", path), JSON_COUNT("blocks", blocks)); */
#define json_members(json, ...) json_write_members(json, JSON_LIST(__VA_ARGS__))
void json_write_members(struct json *json, const struct json_member *members, size_t count);

/* Writes a whole object with these members, or a row: json_row(json, NULL, JSON_COUNT("inode", ino)); */
#define json_flat_object(json, key, ...) json_write_object(json, key, false, JSON_LIST(__VA_ARGS__))
#define json_row(json, key, ...) json_write_object(json, key, true, JSON_LIST(__VA_ARGS__))
void json_write_object(struct json *json, const char *key, bool is_row, const struct json_member *members,
                       size_t count);

/* Writes a whole JSON document as a value, unchanged. */
void json_document(struct json *json, const char *key, const char *text);

/* Ends the document with a line break and flushes. Returns the stream's error, if any (EIO if it is unknown). */
MUST_CHECK errcode_t json_end(struct json *json);
