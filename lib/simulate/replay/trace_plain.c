/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text that misc/e2allocsim.8 defines, which any program can write. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/replay/trace_events.h"

struct field {
	const char *name;
	uint64_t *number;
	uint64_t most;
	int base;
};

/* Reads a number, "7:0" or "7,0" for a device, or seconds with decimals. */
static bool read_value(const char *value, const struct field *field)
{
	char *end;

	if (*value < '0' || *value > '9')
		return false;
	errno = 0;
	*field->number = strtoull(value, &end, field->base);
	return !errno && *end == '\0' && *field->number <= field->most;
}

static bool read_device(const char *value, uint64_t *device)
{
	char *end;
	uint64_t major = strtoull(value, &end, 10), minor;

	if (*value < '0' || *value > '9' || (*end != ':' && *end != ',') || end[1] < '0' || end[1] > '9')
		return false;
	minor = strtoull(end + 1, &end, 10);
	*device = major << 32 | minor;
	return !*end && (major | minor) <= UINT32_MAX;
}

static bool read_seconds(const char *value, double *seconds)
{
	char *end;

	if (*value < '0' || *value > '9' || strspn(value, "0123456789.") != strlen(value))
		return false;
	*seconds = strtod(value, &end);
	return !*end;
}

/* "data,final" */
static bool read_kind(const char *value, struct trace_event *event)
{
	while (*value) {
		size_t bytes = strcspn(value, ",");

		if (bytes == 4 && memcmp(value, "data", bytes) == 0)
			event->is_data = true;
		else if (bytes == 5 && memcmp(value, "final", bytes) == 0)
			event->is_final = true;
		else if (bytes == 9 && memcmp(value, "unwritten", bytes) == 0)
			event->is_unwritten = true;
		else if (bytes == 11 && memcmp(value, "first-stays", bytes) == 0)
			event->keeps_first = true;
		else if (bytes == 10 && memcmp(value, "last-stays", bytes) == 0)
			event->keeps_last = true;
		else if (bytes != 8 || memcmp(value, "metadata", bytes) != 0)
			return false;
		value += bytes + (value[bytes] == ',');
	}
	return true;
}

/* The fields' values; 32 bits of them go to the event. */
struct values {
	uint64_t ino, parent, mode, block, count, logical, asked, start, groups, file_blocks;
};

/* Unknown names are ignored: a later version may have more of them. */
static bool read_field(const char *name, size_t bytes, const char *value, struct values *values,
                       struct trace_event *event, uint64_t *device)
{
	const struct field fields[] = {
		{ "ino", &values->ino, UINT32_MAX, 10 },       { "dir", &values->parent, UINT32_MAX, 10 },
		{ "mode", &values->mode, UINT32_MAX, 8 },      { "block", &values->block, UINT64_MAX >> 8, 10 },
		{ "count", &values->count, UINT32_MAX, 10 },   { "lblk", &values->logical, UINT32_MAX, 10 },
		{ "asked", &values->asked, UINT32_MAX, 10 },   { "start", &values->start, UINT32_MAX, 10 },
		{ "groups", &values->groups, UINT32_MAX, 10 }, { "size", &values->file_blocks, UINT32_MAX, 10 },
		{ "goal", &event->goal, UINT64_MAX, 10 },      { "fallocate", &event->whole_bytes, INT64_MAX, 10 },
		{ "cpu", &event->processor, UINT64_MAX, 10 },  { "pid", &event->process, UINT64_MAX, 10 },
	};

	for (size_t index = 0; index < sizeof(fields) / sizeof(*fields); index++)
		if (strlen(fields[index].name) == bytes && memcmp(fields[index].name, name, bytes) == 0)
			return read_value(value, &fields[index]);
	if (bytes == 3 && memcmp(name, "dev", bytes) == 0)
		return read_device(value, device);
	if (bytes == 4 && memcmp(name, "time", bytes) == 0)
		return read_seconds(value, &event->seconds);
	return bytes != 4 || memcmp(name, "what", bytes) != 0 || read_kind(value, event);
}

static bool find_kind(const char *word, size_t bytes, enum trace_event_kind *kind)
{
	static const char *const words[] = {
		[TRACE_CREATE] = "create", [TRACE_DELETE] = "delete", [TRACE_ALLOCATE] = "allocate",
		[TRACE_FREE] = "free",     [TRACE_CLOSE] = "close",   [TRACE_COMMIT] = "commit",
	};

	for (unsigned int index = 0; index < sizeof(words) / sizeof(*words); index++) {
		if (strlen(words[index]) == bytes && memcmp(words[index], word, bytes) == 0) {
			*kind = index;
			return true;
		}
	}
	return false;
}

static enum trace_meaning check(const struct values *values, struct trace_event *event)
{
	event->ino = (uint32_t)values->ino;
	event->parent = (uint32_t)values->parent;
	event->mode = (uint32_t)values->mode;
	event->block = values->block;
	event->count = (uint32_t)values->count;
	event->logical = (uint32_t)values->logical;
	event->asked = (uint32_t)(values->asked > values->count ? values->asked : values->count);
	event->start = (uint32_t)(values->start < values->logical ? values->start : values->logical);
	event->groups_scanned = (uint32_t)values->groups;
	event->file_blocks = (uint32_t)values->file_blocks;
	if (event->kind == TRACE_COMMIT)
		return TRACE_MEANS_EVENT;
	if (!event->ino || event->asked > UINT32_MAX - event->logical)
		return TRACE_MEANS_UNKNOWN;
	if ((event->kind == TRACE_ALLOCATE || event->kind == TRACE_FREE) && event->count && !event->block)
		return TRACE_MEANS_UNKNOWN;
	return TRACE_MEANS_EVENT;
}

enum trace_meaning trace_plain_parse(const char *text, struct trace_event *event, uint64_t *device)
{
	struct values values = { .start = UINT32_MAX };
	size_t bytes = strcspn(text, " \t");

	*event = (struct trace_event){ 0 };
	*device = 0;
	if (!find_kind(text, bytes, &event->kind))
		return TRACE_MEANS_UNKNOWN;
	for (text += bytes; text += strspn(text, " \t"), *text; text += bytes) {
		char value[256];
		size_t name_bytes = strcspn(text, "= \t");

		bytes = strcspn(text, " \t");
		if (text[name_bytes] != '=' || bytes - name_bytes - 1 >= sizeof(value))
			return TRACE_MEANS_UNKNOWN;
		memcpy(value, text + name_bytes + 1, bytes - name_bytes - 1);
		value[bytes - name_bytes - 1] = '\0';
		if (!read_field(text, name_bytes, value, &values, event, device))
			return TRACE_MEANS_UNKNOWN;
	}
	return check(&values, event);
}
