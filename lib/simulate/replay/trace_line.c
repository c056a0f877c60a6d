/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate/replay/trace_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DECIMAL "0123456789"
#define NAME_BYTES "abcdefghijklmnopqrstuvwxyz0123456789_"

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* Reads all digits; NULL: none, or the value overflows. */
static const char *read_digits(const char *text, int base, uint64_t *value)
{
	char *end;

	if (!is_digit(*text))
		return NULL;
	errno = 0;
	*value = strtoull(text, &end, base);
	return errno || end == text ? NULL : end;
}

/* --- The text before an event's name ------------------------------------------------------------------------- */

/* Finds a timestamp that ends at the colon, after a blank or at the line's begin: "24226.876052" or, with other
 * clocks, "24226". */
static const char *find_timestamp(const char *text, const char *colon)
{
	const char *from = colon;

	while (from > text && (is_digit(from[-1]) || from[-1] == '.'))
		from--;
	return from < colon && is_digit(*from) && (from == text || is_blank(from[-1])) ? from : NULL;
}

/* Finds the event's name before its colon, after a timestamp and an optional system name: "ext4:ext4_free_inode:". */
static const char *find_name(const char *text, size_t *bytes)
{
	text += strspn(text, " \t");
	for (unsigned int systems = 0; systems < 2; systems++) {
		*bytes = strspn(text, NAME_BYTES);
		if (!*bytes || text[*bytes] != ':')
			return NULL;
		if (text[*bytes + 1] == '\0' || is_blank(text[*bytes + 1]))
			return text;
		text += *bytes + 1;
	}
	return NULL;
}

/* "TASK-2746    [001] ...1. ", "TASK-2746 (  2746) [001]", "TASK  2983 [001] ", "TASK  2983/2983 [001]" */
static void read_place(const char *text, const char *timestamp, struct trace_line *line)
{
	const char *bracket = NULL, *end;

	for (const char *at = text; at < timestamp; at++)
		if (*at == '[' && is_digit(at[1]))
			bracket = at;
	if (!bracket)
		return;
	end = read_digits(bracket + 1, 10, &line->processor);
	if (!end || *end != ']')
		line->processor = 0;
	while (bracket > text && is_blank(bracket[-1]))
		bracket--;
	if (bracket > text && bracket[-1] == ')') {
		while (bracket > text && *bracket != '(')
			bracket--;
		while (bracket > text && is_blank(bracket[-1]))
			bracket--;
	}
	while (bracket > text && is_digit(bracket[-1]))
		bracket--;
	if (!read_digits(bracket, 10, &line->process))
		line->process = 0;
}

static bool parse_event(const char *text, struct trace_line *line)
{
	for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
		const char *timestamp = find_timestamp(text, colon);
		const char *name = timestamp ? find_name(colon + 1, &line->name_bytes) : NULL;

		if (!name)
			continue;
		line->name = name;
		line->fields = name + line->name_bytes + 1;
		line->seconds = strtod(timestamp, NULL);
		read_place(text, timestamp, line);
		return true;
	}
	return false;
}

/* --- Lines that are not events
 * ------------------------------------------------------------------------------------------- */

/*
 * tracefs: "CPU:0 [LOST 123 EVENTS]"; trace-cmd: "CPU:0 [123 EVENTS DROPPED]", "CPU:0 [EVENTS DROPPED]";
 * perf script --show-lost-events: "... PERF_RECORD_LOST lost 123".
 */
static bool parse_lost(const char *text, uint64_t *lost)
{
	const char *at = strstr(text, "PERF_RECORD_LOST");

	*lost = 1;
	if (!at && strncmp(text, "CPU:", 4) != 0)
		return false;
	if (!at)
		at = strchr(text, '[');
	if (!at || (!strstr(at, "LOST") && !strstr(at, "DROPPED")))
		return false;
	at += strcspn(at, DECIMAL);
	return !*at || read_digits(at, 10, lost);
}

/* "# entries-in-buffer/entries-written: 757/900 #P:2": the difference was overwritten. */
static bool parse_overwritten(const char *text, uint64_t *lost)
{
	static const char heading[] = "# entries-in-buffer/entries-written: ";
	uint64_t kept, written;

	if (strncmp(text, heading, sizeof(heading) - 1) != 0)
		return false;
	text = read_digits(text + sizeof(heading) - 1, 10, &kept);
	if (!text || *text != '/' || !read_digits(text + 1, 10, &written) || written <= kept)
		return false;
	*lost = written - kept;
	return true;
}

static bool is_remark(const char *text)
{
	return *text == '#' || *text == '\0' || strncmp(text, "cpus=", 5) == 0 || strncmp(text, "version = ", 10) == 0;
}

enum trace_line_kind trace_line_parse(const char *text, struct trace_line *line, uint64_t *lost)
{
	*line = (struct trace_line){ 0 };
	*lost = 0;
	text += strspn(text, " \t");
	if (parse_overwritten(text, lost))
		return TRACE_LINE_LOST;
	if (is_remark(text))
		return TRACE_LINE_COMMENT;
	if (parse_lost(text, lost))
		return TRACE_LINE_LOST;
	*lost = 0;
	return parse_event(text, line) ? TRACE_LINE_EVENT : TRACE_LINE_OTHER;
}

/* --- Fields -------------------------------------------------------------------------------------------------- */

bool trace_line_is(const struct trace_line *line, const char *name)
{
	return strlen(name) == line->name_bytes && memcmp(name, line->name, line->name_bytes) == 0;
}

/* Returns the text after the field's name and a blank; NULL: there is no such field. */
static const char *find_field(const struct trace_line *line, const char *field)
{
	size_t bytes = strlen(field);

	for (const char *at = strstr(line->fields, field); at; at = strstr(at + 1, field))
		if (at > line->fields && is_blank(at[-1]) && is_blank(at[bytes]))
			return at + bytes + 1;
	return NULL;
}

bool trace_line_number(const struct trace_line *line, const char *field, uint64_t most, uint64_t *value)
{
	const char *at = find_field(line, field);

	return at && read_digits(at, 10, value) && *value <= most;
}

bool trace_line_octal(const struct trace_line *line, const char *field, uint32_t *value)
{
	const char *at = find_field(line, field);
	uint64_t number;

	if (!at || !read_digits(at, 8, &number) || number > UINT32_MAX)
		return false;
	*value = (uint32_t)number;
	return true;
}

/* Returns the text after the device; NULL: it is none. */
static const char *read_device(const char *text, uint64_t *device)
{
	uint64_t major, minor;
	const char *at = read_digits(text, 10, &major);

	at = at && (*at == ',' || *at == ':') ? read_digits(at + 1, 10, &minor) : NULL;
	if (!at || (major | minor) > UINT32_MAX)
		return NULL;
	*device = major << 32 | minor;
	return at;
}

bool trace_line_device(const struct trace_line *line, uint64_t *device)
{
	const char *at = find_field(line, "dev");

	return at && read_device(at, device);
}

bool trace_device_parse(const char *text, uint64_t *device)
{
	const char *end = read_device(text, device);

	return end && !*end;
}

bool trace_line_flag(const struct trace_line *line, const char *field, const char *word, uint64_t bit)
{
	const char *at = find_field(line, field);
	uint64_t number;

	/* An empty value is two blanks. */
	for (; at && *at && !is_blank(*at); at += *at == '|') {
		size_t bytes = strcspn(at, "| \t");

		if (bytes == strlen(word) && memcmp(at, word, bytes) == 0)
			return true;
		if (read_digits(at, 0, &number) && number & bit)
			return true;
		at += bytes;
	}
	return false;
}
