/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/tree/path_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *put_before(char *end, const char *text, size_t bytes)
{
	end -= bytes;
	memcpy(end, text, bytes);
	return end;
}

char *path_text(const char *root_path, ascend_step step, const void *tree, uint32_t number, const char *name)
{
	size_t root_bytes = strlen(root_path);
	size_t bytes = name ? strlen(name) + 1 : 0;

	/* "/" and "dir/" bring their own slash. */
	while (root_bytes && root_path[root_bytes - 1] == '/')
		root_bytes--;
	if (number == ASCEND_ROOT && !name)
		return strdup(root_path);
	for (uint32_t at = number; at != ASCEND_ROOT;) {
		struct ascent up = step(tree, at);

		bytes += up.name_bytes + 1;
		at = up.parent;
	}
	char *text = malloc(root_bytes + bytes + 1);

	if (!text)
		return NULL;
	char *end = text + root_bytes + bytes;

	*end = '\0';
	if (name) {
		end = put_before(end, name, strlen(name));
		*--end = '/';
	}
	while (number != ASCEND_ROOT) {
		struct ascent up = step(tree, number);

		end = put_before(end, up.name, up.name_bytes);
		*--end = '/';
		number = up.parent;
	}
	memcpy(text, root_path, root_bytes);
	return text;
}

char *path_from(const char *directory, const char *path)
{
	size_t bytes = strlen(directory);
	char *text;

	if (*path == '/')
		return strdup(path);
	return asprintf(&text, "%s%s%s", directory, bytes && directory[bytes - 1] == '/' ? "" : "/", path) < 0 ? NULL :
	                                                                                                       text;
}
