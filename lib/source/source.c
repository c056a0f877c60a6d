// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/source.h"

#include <errno.h>
#include <string.h>

#include "source/archive/archive_source.h"
#include "source/host/directory_source.h"
#include "source/layers/oci_image.h"
#include "source/manifest/manifest_source.h"

/* All kinds of sources. The first one that takes a name without a prefix has it; an archive takes any. */
static const struct source_kind *const kinds[] = {
	&directory_source,
	&manifest_source,
	&archive_source,
	&oci_image_source,
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

static bool has_prefix(struct source *source)
{
	for (size_t i = 0; !source->kind && i < KINDS; i++)
		if (kinds[i]->takes_prefix && kinds[i]->takes_prefix(source))
			source->kind = kinds[i];
	return source->kind;
}

struct source source_of(const char *name)
{
	struct source source = { .path = name, .descriptor = -1 };

	has_prefix(&source);
	for (size_t i = 0; !source.kind && i < KINDS; i++)
		if (kinds[i]->takes_name && kinds[i]->takes_name(&source))
			source.kind = kinds[i];
	return source;
}

bool source_is_standard_input(const char *name)
{
	struct source source = { .path = name };

	return (!has_prefix(&source) || source.kind->scan) && !strcmp(source.path, "-");
}

/* Of an image, a reference may follow: DIR:REF. */
bool source_names_nothing(const char *name)
{
	struct source source = { .path = name };

	return has_prefix(&source) && (!*source.path || (source.kind->list_layers && *source.path == ':'));
}

errcode_t source_scan(struct source *source, const struct scan_options *options, struct pool *pool, struct tree **ret,
                      struct problem *problem)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	errcode_t error = tree ? source->kind->scan(source, options, pool, tree, problem) : ENOMEM;

	*ret = NULL;
	if (error) {
		tree_destroy(tree);
		return problem_set(problem, error, source->path, "cannot read");
	}
	*ret = tree;
	return 0;
}
