/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unpack/spool_directory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *spool_directory(const char *image)
{
	const char *chosen = getenv("TMPDIR"), *slash = strrchr(image, '/');
	struct stat status;

	if (chosen && *chosen)
		return strdup(chosen);
	if (!stat(image, &status) && S_ISBLK(status.st_mode))
		return strdup("/var/tmp");
	if (!slash)
		return strdup(".");
	return slash == image ? strdup("/") : strndup(image, (size_t)(slash - image));
}
