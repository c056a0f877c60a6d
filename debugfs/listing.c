// SPDX-License-Identifier: GPL-2.0-or-later
#include "listing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A last column to the left is not filled up. */
static int width_of(const struct column *column)
{
	return column[1].name || column->width > 0 ? column->width : 0;
}

static const char *separator_after(const struct column *column)
{
	return column[1].name ? "  " : "\n";
}

void listing_begin(struct listing *listing, bool is_json, const struct column *columns)
{
	*listing = (struct listing){ .json = { .stream = stdout }, .is_json = is_json, .columns = columns };
	if (is_json) {
		json_open_array(&listing->json, NULL);
		return;
	}
	for (const struct column *column = columns; column->name; column++)
		printf("%*s%s", width_of(column), column->name, separator_after(column));
}

void listing_row(struct listing *listing, const struct cell *cells)
{
	if (listing->is_json)
		json_open_row(&listing->json, NULL);
	for (const struct column *column = listing->columns; column->name; column++, cells++) {
		if (!listing->is_json && cells->text)
			printf("%*s%s", width_of(column), cells->text, separator_after(column));
		else if (!listing->is_json)
			printf("%*" PRIu64 "%s", width_of(column), cells->number, separator_after(column));
		else if (cells->text)
			json_string(&listing->json, column->name, cells->text);
		else
			json_unsigned(&listing->json, column->name, cells->number);
	}
	if (listing->is_json)
		json_close_object(&listing->json);
}

errcode_t listing_end(struct listing *listing)
{
	if (!listing->is_json)
		return 0;
	json_close_array(&listing->json);
	return json_end(&listing->json);
}

static void put_value(struct json *json, const char *name, const char *value)
{
	char *end;
	uint64_t number = strtoull(value, &end, 10);

	if (*end)
		json_string(json, name, value);
	else
		json_unsigned(json, name, number);
}

static errcode_t put_lines(char *rest)
{
	struct json json = { .stream = stdout };
	unsigned int depth = 0;

	json_open_object(&json, NULL);
	for (char *line; (line = strsep(&rest, "\n")) && *line;) {
		unsigned int tabs = (unsigned int)strspn(line, "\t");
		char *name = line + tabs;
		char *value = strchr(name, ':');

		if (!value)
			continue;
		*value++ = '\0';
		value += strspn(value, " ");
		for (; depth > tabs; depth--)
			json_close_object(&json);
		if (*value) {
			put_value(&json, name, value);
			continue;
		}
		json_open_object(&json, name);
		depth++;
	}
	for (; depth; depth--)
		json_close_object(&json);
	json_close_object(&json);
	return json_end(&json);
}

errcode_t listing_print(void *stream, const char *text, size_t bytes)
{
	/* An error is the stream's, and found when it is flushed. */
	fwrite(text, 1, bytes, stream);
	return 0;
}

errcode_t listing_kernel_form(bool is_json,
                              errcode_t (*write_form)(struct ext2mb *mb, ext2mb_write_function write, void *context),
                              struct ext2mb *mb)
{
	SCOPE_FREE char *text = NULL;
	size_t bytes;

	if (!is_json)
		return write_form(mb, listing_print, stdout);
	FILE *stream = open_memstream(&text, &bytes);
	if (!stream)
		return ENOMEM;
	errcode_t error = write_form(mb, listing_print, stream);
	if (fclose(stream))
		return ENOMEM;
	return error ? error : put_lines(text);
}
