// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/format/extended_options.h"

#include <errno.h>
#include <string.h>

static bool is_named(const char *option, const char *name)
{
	size_t bytes = strcspn(option, ",=");

	return bytes == strlen(name) && memcmp(option, name, bytes) == 0;
}

static const char *next_option(const char *option)
{
	option += strcspn(option, ",");
	return option + (*option == ',');
}

bool extended_has(const char *list, const char *name)
{
	for (; list && *list; list = next_option(list))
		if (is_named(list, name))
			return true;
	return false;
}

errcode_t extended_value(const char *list, const char *name, char **ret)
{
	const char *value = "";

	for (; list && *list; list = next_option(list)) {
		if (!is_named(list, name))
			continue;
		value = list + strcspn(list, ",=");
		value += *value == '=';
	}
	*ret = strndup(value, strcspn(value, ","));
	return *ret ? 0 : ENOMEM;
}

errcode_t extended_without(const char *list, const char *name, char **ret)
{
	char *to = malloc(strlen(list) + 2);

	*ret = to;
	if (!to)
		return ENOMEM;
	for (; *list; list = next_option(list)) {
		size_t bytes = strcspn(list, ",");

		if (is_named(list, name))
			continue;
		if (to > *ret)
			*to++ = ',';
		memcpy(to, list, bytes);
		to += bytes;
	}
	*to = '\0';
	return 0;
}
