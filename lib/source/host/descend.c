/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/descend.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "support/vector.h"

#define PIECE_COMPONENTS 64

void descender_init(struct descender *descender, int root, ascend_step step, const void *tree)
{
	*descender = (struct descender){ .tree = tree, .step = step, .root = root, .anchor = -1 };
}

void descender_destroy(struct descender *descender)
{
	if (descender->anchor >= 0)
		close(descender->anchor);
	free(descender->pieces);
	descender->anchor = -1;
	descender->pieces = NULL;
}

/* Opens a directory by its path from an ancestor (open at descriptor `at`), which must fit PATH_MAX. */
static errcode_t open_between(struct descender *descender, int at, uint32_t ancestor, uint32_t directory, int flags,
                              int *ret)
{
	char path[PATH_MAX];
	size_t start = sizeof(path) - 1;

	path[start] = '\0';
	while (directory != ancestor) {
		struct ascent up = descender->step(descender->tree, directory);

		if (path[start])
			path[--start] = '/';
		start -= up.name_bytes;
		memcpy(path + start, up.name, up.name_bytes);
		directory = up.parent;
	}
	return open_below(&descender->opener, at, path[start] ? path + start : ".", flags | O_DIRECTORY, ret);
}

/*
 * Usually the path from the root is short and the kernel walks it at some 50 ns a component. A longer one is
 * cut into pieces; the last cut stays open as the anchor, from which neighbours are reached. Short pieces keep a
 * chain of directories from costing the square of its depth.
 */
errcode_t descender_open(struct descender *descender, uint32_t directory, int *ret)
{
	uint32_t at = directory;
	size_t piece_bytes = 0, components = 0, pieces = 0;

	*ret = -1;
	while (at != ASCEND_ROOT && (descender->anchor < 0 || at != descender->anchor_directory)) {
		struct ascent up = descender->step(descender->tree, at);

		if (piece_bytes + up.name_bytes + 1 >= PATH_MAX || components == PIECE_COMPONENTS) {
			errcode_t error = vector_reserve(&descender->pieces, &descender->pieces_capacity, pieces + 1,
			                                 sizeof(*descender->pieces));

			if (error)
				return error;
			descender->pieces[pieces++] = at;
			piece_bytes = components = 0;
		}
		piece_bytes += up.name_bytes + 1;
		components++;
		at = up.parent;
	}
	int base = at == ASCEND_ROOT ? descender->root : descender->anchor;

	while (pieces--) {
		uint32_t cut = descender->pieces[pieces];
		int descriptor;
		errcode_t error = open_between(descender, base, at, cut, O_PATH, &descriptor);

		if (error)
			return error;
		if (descender->anchor >= 0)
			close(descender->anchor);
		base = descender->anchor = descriptor;
		at = descender->anchor_directory = cut;
	}
	return open_between(descender, base, at, directory, O_RDONLY, ret);
}

errcode_t descender_open_file(struct descender *descender, int directory, const char *name, int *descriptor)
{
	return open_below(&descender->opener, directory, name, O_RDONLY | O_NOCTTY | O_NONBLOCK, descriptor);
}
