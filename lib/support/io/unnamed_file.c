/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/io/unnamed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/cleanup.h"

errcode_t unnamed_file_open(const char *folder, int *descriptor)
{
	SCOPE_FREE char *name = NULL;

	*descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (*descriptor >= 0)
		return 0;
	/* Some filesystems (NFS, old overlayfs) lack O_TMPFILE: there the name is removed as soon as the file exists.
	 */
	if (errno != EOPNOTSUPP && errno != EISDIR)
		return errno;
	if (asprintf(&name, "%s/.ext2mb-XXXXXX", folder) < 0) {
		name = NULL;
		return ENOMEM;
	}
	*descriptor = mkostemp(name, O_CLOEXEC);
	if (*descriptor < 0)
		return errno;
	unlink(name);
	return 0;
}
