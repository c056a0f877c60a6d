// SPDX-License-Identifier: GPL-2.0-or-later
#include "populate/extended.h"

#include <string.h>

bool extended_has(const char *list, const char *name)
{
	while (list && *list) {
		size_t bytes = strcspn(list, ",=");

		if (bytes == strlen(name) && memcmp(list, name, bytes) == 0)
			return true;
		list += strcspn(list, ",");
		list += *list == ',';
	}
	return false;
}
