/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/run/program.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/io/same_file.h"

static bool can_run(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0 &&
	       !is_same_file("/proc/self/exe", &status);
}

errcode_t program_beside(const char *name, char **path)
{
	SCOPE_FREE char *self = STATIC_TOOLS ? realpath("/proc/self/exe", NULL) : NULL;
	char *end = self ? strrchr(self, '/') : NULL;

	if (!end)
		return ENOENT;
	*end = '\0';
	return asprintf(path, "%s/%s", self, name) < 0 ? ENOMEM : 0;
}

errcode_t program_find(const char *name, char **path)
{
	const char *folders = getenv("PATH");
	SCOPE_FREE char *own = NULL;
	SCOPE_FREE char *all = NULL;
	char *rest, *folder;
	/* A host may have none of e2fsprogs' programs, or others, which write what this libext2fs does not know. */
	errcode_t error = program_beside("../libexec/ext2mb/e2fsprogs", &own);

	if (error && error != ENOENT)
		return error;
	if (asprintf(&all, "%s%s%s:/usr/sbin:/sbin", own ? own : "", own ? ":" : "",
	             folders ? folders : "/usr/bin:/bin") < 0)
		return ENOMEM;
	rest = all;
	while ((folder = strsep(&rest, ":"))) {
		SCOPE_FREE char *candidate = NULL;

		/* An empty entry means the current folder, as for the shell. */
		if (asprintf(&candidate, "%s/%s", *folder ? folder : ".", name) < 0)
			return ENOMEM;
		if (can_run(candidate)) {
			*path = TAKE(candidate);
			return 0;
		}
	}
	return ENOENT;
}
