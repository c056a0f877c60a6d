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

/*
 * Where the static tools' archive has e2fsprogs' programs, seen from the tool: a host may have none, or others that
 * write what this libext2fs does not know. "" in the ordinary tools, whose libext2fs is the host's as well.
 */
static errcode_t find_own_folder(char **folder)
{
	SCOPE_FREE char *self = NULL;

	if (STATIC_TOOLS)
		self = realpath("/proc/self/exe", NULL);
	char *name = self ? strrchr(self, '/') : NULL;

	if (name)
		*name = '\0';
	return asprintf(folder, "%s%s", name ? self : "", name ? "/../libexec/ext2mb/e2fsprogs:" : "") < 0 ? ENOMEM : 0;
}

errcode_t program_find(const char *name, char **path)
{
	const char *folders = getenv("PATH");
	SCOPE_FREE char *own = NULL;
	SCOPE_FREE char *all = NULL;
	char *rest, *folder;
	errcode_t error = find_own_folder(&own);

	if (error)
		return error;
	if (asprintf(&all, "%s%s:/usr/sbin:/sbin", own, folders ? folders : "/usr/bin:/bin") < 0)
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
