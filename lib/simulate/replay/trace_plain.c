/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text that lab/e2allocsim.8 defines, which any program can write. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/replay/trace_events.h"

struct field {
	const char *name;
	size_t at, bytes; /* the member of struct trace_event: 32 or 64 bits */
	uint64_t most;
	int base;
};

#define MEMBER(member) offsetof(struct trace_event, member), sizeof(((struct trace_event *)NULL)->member)

static const struct field fields[] = {
	{ "ino", MEMBER(ino), UINT32_MAX, 10 },
	{ "dir", MEMBER(parent), UINT32_MAX, 10 },
	{ "mode", MEMBER(mode), UINT32_MAX, 8 },
	{ "block", MEMBER(block), UINT64_MAX >> 8, 10 },
	{ "count", MEMBER(count), UINT32_MAX, 10 },
	{ "lblk", MEMBER(logical), UINT32_MAX, 10 },
	{ "asked", MEMBER(asked), UINT32_MAX, 10 },
	{ "start", MEMBER(start), UINT32_MAX, 10 },
	{ "groups", MEMBER(groups_scanned), UINT32_MAX, 10 },
	{ "size", MEMBER(file_blocks), UINT32_MAX, 10 },
	{ "goal", MEMBER(goal), UINT64_MAX, 10 },
	{ "left", MEMBER(left_end), UINT32_MAX, 10 },
	{ "right", MEMBER(right_start), UINT32_MAX, 10 },
	{ "fallocate", MEMBER(whole_bytes), INT64_MAX, 10 },
	{ "cpu", MEMBER(processor), UINT64_MAX, 10 },
	{ "pid", MEMBER(process), UINT64_MAX, 10 },
};

static bool is_word(const char *word, const char *text, size_t bytes)
{
	return strlen(word) == bytes && memcmp(word, text, bytes) == 0;
}

static bool read_number(const char *value, const struct field *field, struct trace_event *event)
{
	char *end;

	if (*value < '0' || *value > '9')
		return false;
	errno = 0;
	uint64_t number = strtoull(value, &end, field->base);
	uint32_t small = (uint32_t)number;

	memcpy((char *)event + field->at, field->bytes == sizeof(small) ? (void *)&small : &number, field->bytes);
	return !errno && *end == '\0' && number <= field->most;
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
	for (size_t bytes; *value; value += bytes + (value[bytes] == ',')) {
		bytes = strcspn(value, ",");
		bool *flag = is_word("data", value, bytes)        ? &event->is_data :
		             is_word("final", value, bytes)       ? &event->is_final :
		             is_word("unwritten", value, bytes)   ? &event->is_unwritten :
		             is_word("first-stays", value, bytes) ? &event->keeps_first :
		             is_word("last-stays", value, bytes)  ? &event->keeps_last :
		                                                    NULL;

		if (flag)
			*flag = true;
		else if (!is_word("metadata", value, bytes))
			return false;
	}
	return true;
}

/* Unknown names are ignored: a later version may have more of them. */
static bool read_field(const char *name, size_t bytes, const char *value, struct trace_event *event, uint64_t *device)
{
	for (size_t index = 0; index < sizeof(fields) / sizeof(*fields); index++)
		if (is_word(fields[index].name, name, bytes))
			return read_number(value, &fields[index], event);
	if (is_word("dev", name, bytes))
		return trace_device_parse(value, device);
	if (is_word("time", name, bytes))
		return read_seconds(value, &event->seconds);
	return !is_word("what", name, bytes) || read_kind(value, event);
}

static bool find_kind(const char *word, size_t bytes, enum trace_event_kind *kind)
{
	static const char *const words[] = {
		[TRACE_CREATE] = "create", [TRACE_DELETE] = "delete", [TRACE_ALLOCATE] = "allocate",
		[TRACE_FREE] = "free",     [TRACE_CLOSE] = "close",   [TRACE_COMMIT] = "commit",
	};

	for (*kind = 0; *kind < sizeof(words) / sizeof(*words); ++*kind)
		if (is_word(words[*kind], word, bytes))
			return true;
	return false;
}

static enum trace_meaning check(struct trace_event *event)
{
	event->asked = event->asked > event->count ? event->asked : event->count;
	event->start = event->start < event->logical ? event->start : event->logical;
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
	size_t bytes = strcspn(text, " \t");

	*event = (struct trace_event){ .start = UINT32_MAX };
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
		if (!read_field(text, name_bytes, value, event, device))
			return TRACE_MEANS_UNKNOWN;
	}
	return check(event);
}
