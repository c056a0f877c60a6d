// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/source.h"

errcode_t source_scan(const char *path, const struct scan_options *options, struct pool *pool, struct tree **ret,
                      struct problem *problem)
{
	return directory_source_scan(path, options, pool, ret, problem);
}
