/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "disk/source_limits_option.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "command/command_line.h"
#include "support/cleanup.h"
#include "support/text/units.h"

static const struct limit_word {
	const char *name; /* with its = */
	size_t at;        /* offset in struct source_limits */
	bool is_bytes;    /* with a suffix */
} limit_words[] = {
	{ "names=", offsetof(struct source_limits, names), false },
	{ "unpacked=", offsetof(struct source_limits, unpacked_bytes), true },
	{ "metadata=", offsetof(struct source_limits, metadata_bytes), true },
	{ "path=", offsetof(struct source_limits, path_bytes), false },
};

/* True: the limit is metadata. */
static bool read_one(const char *text, struct source_limits *limits)
{
	const struct limit_word *word = limit_words;
	const struct limit_word *end = limit_words + sizeof(limit_words) / sizeof(*limit_words);
	uint64_t most = 0;

	while (word < end && strncmp(text, word->name, strlen(word->name)))
		word++;
	if (word == end)
		usage_error("--limit=%s: use names=N, unpacked=SIZE, metadata=SIZE or path=N", text);
	const char *value = text + strlen(word->name);
	bool is_none = strcmp(value, "none") == 0;

	if (!is_none &&
	    (word->is_bytes ? units_parse_bytes(value, 1, &most) : units_parse_number(value, 1, UINT64_MAX, &most)))
		most = 0;
	if (!is_none && !most)
		usage_error("--limit=%s: give a %s above 0, or none", text, word->is_bytes ? "size" : "number");
	memcpy((char *)limits + word->at, &most, sizeof(most));
	return word->at == offsetof(struct source_limits, metadata_bytes);
}

bool source_limits_read(const char *argument, struct source_limits *limits)
{
	SCOPE_FREE char *list = strdup(argument);
	bool has_metadata = false;
	char *rest = list, *word;

	if (!list)
		exit_without_memory();
	while ((word = strsep(&rest, ",")))
		has_metadata |= read_one(word, limits);
	return has_metadata;
}

void source_limits_read_unpacked(const char *argument, uint64_t *most_bytes)
{
	static const char word[] = "unpacked=";
	struct source_limits limits = { 0 };

	if (strncmp(argument, word, strlen(word)) != 0 || strchr(argument, ','))
		usage_error("--limit=%s: use unpacked=SIZE", argument);
	source_limits_read(argument, &limits);
	*most_bytes = limits.unpacked_bytes;
}
