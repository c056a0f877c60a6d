// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/source.h"

#include <string.h>
#include <sys/stat.h>

#include "source/archive_source.h"

bool source_is_archive(const char *path)
{
	struct stat status;

	return !strcmp(path, "-") || (stat(path, &status) == 0 && !S_ISDIR(status.st_mode));
}

errcode_t source_scan(const char *path, const struct scan_options *options, struct pool *pool, struct tree **ret,
                      struct problem *problem)
{
	return source_is_archive(path) ? archive_source_scan(path, options, pool, ret, problem) :
	                                 directory_source_scan(path, options, pool, ret, problem);
}
