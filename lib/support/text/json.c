/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/text/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "support/io/whole_io.h"
#include "support/utf8.h"

/* Returns false if the text is not UTF-8. */
static bool write_text(struct json *json, const char *bytes, size_t count)
{
	const char *end = bytes + count;
	bool is_text = true;

	fputc('"', json->stream);
	while (bytes < end) {
		unsigned char byte = (unsigned char)*bytes;
		uint32_t code;
		unsigned int length = utf8_decode(bytes, (size_t)(end - bytes), &code);

		if (!length)
			fputs("\\ufffd", json->stream);
		else if (byte == '"' || byte == '\\')
			fprintf(json->stream, "\\%c", byte);
		else if (json->is_in_html && strchr("<>&", byte))
			fprintf(json->stream, "\\u%04x", byte);
		else if (!utf8_is_seen(code))
			fprintf(json->stream, "\\u%04x", code);
		else
			fwrite(bytes, 1, length, json->stream);
		is_text = is_text && length;
		bytes += length ? length : 1;
	}
	fputc('"', json->stream);
	return is_text;
}

static void break_line(struct json *json)
{
	if (json->is_line[json->depth])
		return;
	fputc('\n', json->stream);
	for (unsigned int level = 0; level < json->depth; level++)
		fputs("  ", json->stream);
}

/* Writes the comma, the line break and the key before a value. */
static void begin_value(struct json *json, const char *key)
{
	if (json->has_members[json->depth])
		fputs(json->is_line[json->depth] ? ", " : ",", json->stream);
	if (json->depth)
		break_line(json);
	json->has_members[json->depth] = true;
	if (!key)
		return;
	write_text(json, key, strlen(key));
	fputs(": ", json->stream);
}

static void open_level(struct json *json, const char *key, char bracket, bool is_line)
{
	begin_value(json, key);
	fputc(bracket, json->stream);
	is_line = is_line || json->is_line[json->depth];
	json->depth++;
	assert(json->depth <= JSON_MAX_DEPTH);
	json->has_members[json->depth] = false;
	json->is_line[json->depth] = is_line;
}

static void close_level(struct json *json, char bracket)
{
	bool had_members = json->has_members[json->depth];
	bool was_line = json->is_line[json->depth];

	assert(json->depth);
	json->depth--;
	if (had_members && !was_line)
		break_line(json);
	fputc(bracket, json->stream);
}

void json_open_object(struct json *json, const char *key)
{
	open_level(json, key, '{', false);
}

void json_open_array(struct json *json, const char *key)
{
	open_level(json, key, '[', false);
}

void json_open_row(struct json *json, const char *key)
{
	open_level(json, key, '{', true);
}

void json_close_object(struct json *json)
{
	close_level(json, '}');
}

void json_close_array(struct json *json)
{
	close_level(json, ']');
}

void json_unsigned(struct json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	fprintf(json->stream, "%" PRIu64, value);
}

void json_boolean(struct json *json, const char *key, bool value)
{
	begin_value(json, key);
	fputs(value ? "true" : "false", json->stream);
}

void json_number(struct json *json, const char *key, double value, unsigned int decimals)
{
	begin_value(json, key);
	if (!isfinite(value))
		fputs("null", json->stream);
	else
		fprintf(json->stream, "%.*f", (int)decimals, value);
}

static void write_hex(struct json *json, const char *key, const char *bytes, size_t count)
{
	fprintf(json->stream, ",");
	if (json->is_line[json->depth])
		fputc(' ', json->stream);
	else
		break_line(json);
	fprintf(json->stream, "\"%s_hex\": \"", key);
	for (size_t at = 0; at < count; at++)
		fprintf(json->stream, "%02x", (unsigned char)bytes[at]);
	fputc('"', json->stream);
}

void json_bytes(struct json *json, const char *key, const char *bytes, size_t count)
{
	begin_value(json, key);
	if (!write_text(json, bytes, count) && key)
		write_hex(json, key, bytes, count);
}

void json_string(struct json *json, const char *key, const char *text)
{
	if (text)
		json_bytes(json, key, text, strlen(text));
	else
		json_document(json, key, "null");
}

void json_document(struct json *json, const char *key, const char *text)
{
	begin_value(json, key);
	fputs(text, json->stream);
}

void json_write_members(struct json *json, const struct json_member *members, size_t count)
{
	for (const struct json_member *member = members; member < members + count; member++) {
		if (member->kind == JSON_IS_COUNT)
			json_unsigned(json, member->key, member->count);
		else if (member->kind == JSON_IS_NUMBER)
			json_number(json, member->key, member->number, (unsigned int)member->count);
		else if (member->kind == JSON_IS_TEXT)
			json_string(json, member->key, member->text);
		else
			json_boolean(json, member->key, member->count);
	}
}

void json_write_object(struct json *json, const char *key, bool is_row, const struct json_member *members, size_t count)
{
	open_level(json, key, '{', is_row);
	json_write_members(json, members, count);
	close_level(json, '}');
}

errcode_t json_end(struct json *json)
{
	assert(!json->depth);
	fputc('\n', json->stream);
	return flush_output(json->stream);
}
