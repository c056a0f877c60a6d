/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "update/build/plain_path.h"

#include <stdlib.h>
#include <string.h>

bool plain_path_climbs(const char *path)
{
	for (; *(path += strspn(path, "/")); path += strcspn(path, "/"))
		if (strcspn(path, "/") == 2 && !memcmp(path, "..", 2))
			return true;
	return false;
}

char *plain_path(const char *path)
{
	char *plain = malloc(strlen(path) + 2), *end = plain;

	for (; plain && *(path += strspn(path, "/")); path += strcspn(path, "/")) {
		size_t bytes = strcspn(path, "/");

		if (bytes == 1 && *path == '.')
			continue;
		*end++ = '/';
		memcpy(end, path, bytes);
		end += bytes;
	}
	if (plain)
		*end = '\0';
	return plain;
}
