/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare/kernel_forms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/group/group.h"
#include "allocator/stats_text.h"

typedef errcode_t (*write_lines)(struct ext2mb *mb, ext2mb_write_function write, void *context);

static const struct {
	const char *name;
	write_lines write; /* NULL: it is a table */
	bool needs_all;
} forms[] = {
	[KERNEL_MB_STATS] = { "mb_stats", ext2mb_write_mb_stats, false },
	[KERNEL_MB_GROUPS] = { "mb_groups", NULL, false },
	[KERNEL_MB_STRUCTS_SUMMARY] = { "mb_structs_summary", ext2mb_write_mb_structs_summary, true },
};

const char *kernel_form_name(enum kernel_form form)
{
	return form < KERNEL_FORMS ? forms[form].name : NULL;
}

/* An error stays in the stream, and is found when it is flushed. */
static errcode_t put_text(void *stream, const char *text, size_t bytes)
{
	fwrite(text, 1, bytes, stream);
	return 0;
}

/* --- Groups --------------------------------------------------------------------------------------------------- */

errcode_t kernel_groups_print(struct ext2mb *mb, uint32_t first, uint32_t end, FILE *stream)
{
	return stats_text_write_groups(mb, first, end, put_text, stream);
}

static void put_row(struct json *json, const struct ext2mb *mb, uint32_t number, const struct group_row *row)
{
	json_open_row(json, NULL);
	json_members(json, JSON_COUNT("group", number), JSON_COUNT("free", row->free_clusters),
	             JSON_COUNT("fragments", row->fragments), JSON_COUNT("first", row->first_free));
	json_open_array(json, "orders");
	for (unsigned int order = 0; order < mb->orders; order++)
		json_unsigned(json, NULL, row->counters[order]);
	json_close_array(json);
	json_boolean(json, "corrupt", row->is_corrupt);
	json_close_object(json);
}

errcode_t kernel_groups_write(struct ext2mb *mb, uint32_t first, uint32_t end, struct json *json, const char *key)
{
	errcode_t error = 0;

	json_open_array(json, key);
	for (uint32_t number = first; number < end && !error; number++) {
		struct group_row row;

		error = stats_text_read_row(mb, number, &row);
		if (!error)
			put_row(json, mb, number, &row);
	}
	json_close_array(json);
	return error;
}

/* --- Lines ---------------------------------------------------------------------------------------------------- */

static void put_value(struct json *json, const char *name, const char *value)
{
	char *end;
	uint64_t number = strtoull(value, &end, 10);

	if (*end)
		json_string(json, name, value);
	else
		json_unsigned(json, name, number);
}

static void put_lines(struct json *json, const char *key, char *rest)
{
	unsigned int depth = 0;

	json_open_object(json, key);
	for (char *line; (line = strsep(&rest, "\n")) && *line;) {
		unsigned int tabs = (unsigned int)strspn(line, "\t");
		char *name = line + tabs;
		char *value = strchr(name, ':');

		if (!value)
			continue;
		*value++ = '\0';
		value += strspn(value, " ");
		for (; depth > tabs; depth--)
			json_close_object(json);
		if (*value) {
			put_value(json, name, value);
			continue;
		}
		json_open_object(json, name);
		depth++;
	}
	for (; depth; depth--)
		json_close_object(json);
	json_close_object(json);
}

/* --- Either --------------------------------------------------------------------------------------------------- */

errcode_t kernel_form_print(enum kernel_form form, struct ext2mb *mb, FILE *stream)
{
	errcode_t error = forms[form].needs_all ? kernel_groups_load(mb) : 0;

	if (error)
		return error;
	return forms[form].write ? forms[form].write(mb, put_text, stream) :
	                           kernel_groups_print(mb, 0, mb->geometry.groups, stream);
}

errcode_t kernel_form_write(enum kernel_form form, struct ext2mb *mb, struct json *json, const char *key)
{
	SCOPE_FREE char *text = NULL;
	size_t bytes;

	if (!forms[form].write)
		return kernel_groups_write(mb, 0, mb->geometry.groups, json, key);
	FILE *stream = open_memstream(&text, &bytes);
	if (!stream)
		return ENOMEM;
	errcode_t error = kernel_form_print(form, mb, stream);
	if (fclose(stream))
		return ENOMEM;
	if (!error)
		put_lines(json, key, text);
	return error;
}
