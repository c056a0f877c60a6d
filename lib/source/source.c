// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/source.h"

#include <string.h>
#include <sys/stat.h>

#include "source/archive_source.h"

errcode_t source_scan(const char *path, const struct scan_options *options, struct pool *pool, struct tree **ret,
                      struct problem *problem)
{
	struct stat status;

	if (strcmp(path, "-") && (stat(path, &status) || S_ISDIR(status.st_mode)))
		return directory_source_scan(path, options, pool, ret, problem);
	return archive_source_scan(path, options, pool, ret, problem);
}
