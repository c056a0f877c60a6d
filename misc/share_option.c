/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "share_option.h"

#include <stdlib.h>
#include <string.h>

#include "command/tool.h"
#include "support/cleanup.h"
#include "support/text/units.h"

/* The largest filesystem with blocks of 4096 bytes; sums with larger values could overflow. */
#define MOST_FREE_BYTES (UINT64_C(1) << 60)

unsigned int share_option_read(const struct taken_option *option, unsigned int most_percent, uint64_t most_bytes,
                               uint64_t *bytes)
{
	const char *argument = option->argument, *name = option->row->name;
	size_t length = strlen(argument);
	SCOPE_FREE char *number = strndup(argument, length ? length - 1 : 0);
	uint64_t percent = 0;

	*bytes = 0;
	if (length && argument[length - 1] == '%') {
		if (!number || units_parse_number(number, 0, most_percent, &percent))
			usage_error("--%s: %s is not a percentage from 0%% to %u%%", name, argument, most_percent);
	} else if (units_parse_bytes(argument, 1, bytes) || *bytes > most_bytes) {
		usage_error("--%s: %s is neither a size nor a percentage", name, argument);
	} else if (*bytes && *bytes < 100) {
		usage_error("--%s: %s are bytes; a percentage has its sign: %s%%", name, argument, argument);
	}
	return (unsigned int)percent;
}

unsigned int share_option_read_free(const struct taken_option *option, uint64_t *bytes)
{
	return share_option_read(option, 99, MOST_FREE_BYTES, bytes);
}
