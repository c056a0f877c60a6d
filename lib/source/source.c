// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/source.h"

#include <string.h>
#include <sys/stat.h>

#include "source/host/directory_source.h"

struct source source_of(const char *name)
{
	struct source source = { .kind = archive_kind_of_prefix(name, &source.path), .descriptor = -1 };
	struct stat status;

	if (source.kind)
		return source;
	/* What is not there is said to be no directory. */
	if (strcmp(name, "-") && (stat(name, &status) || S_ISDIR(status.st_mode)))
		return source;
	source.kind = archive_kind_is_manifest_name(name) ? &archive_kind_manifest : &archive_kind_common;
	return source;
}

errcode_t source_scan(struct source *source, const struct scan_options *options, struct pool *pool,
                      struct tree **ret, struct problem *problem)
{
	if (!source->kind)
		return directory_source_scan(source->path, options, pool, ret, problem);
	return archive_source_scan(source, options, pool, ret, problem);
}
