// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/archive/archive_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "support/io/whole_io.h"

/* Most files are small: gathered, 84 000 of them cost some 1400 writes. */
#define BUFFER_BYTES ((size_t)1 << 20)

void archive_spool_init(struct archive_spool *spool, struct tree *tree, const char *directory)
{
	*spool = (struct archive_spool){ .tree = tree, .directory = directory ? directory : "/tmp", .descriptor = -1 };
}

void archive_spool_destroy(struct archive_spool *spool)
{
	free(TAKE(spool->buffer));
}

/* Some filesystems (NFS, overlayfs of old) lack O_TMPFILE: there the name goes as soon as it is there. */
static int open_unnamed(const char *directory)
{
	int descriptor = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	SCOPE_FREE char *name = NULL;

	if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return descriptor;
	if (asprintf(&name, "%s/.e2populate-XXXXXX", directory) < 0)
		return -1;
	descriptor = mkostemp(name, O_CLOEXEC);
	if (descriptor >= 0)
		unlink(name);
	return descriptor;
}

errcode_t archive_spool_open(struct archive_spool *spool, struct problem *problem)
{
	if (spool->descriptor >= 0)
		return 0;
	spool->buffer = malloc(BUFFER_BYTES);
	if (!spool->buffer)
		return ENOMEM;
	int descriptor = open_unnamed(spool->directory);

	if (descriptor < 0)
		return problem_set(problem, errno, spool->directory, "cannot make a temporary file");
	errcode_t error = tree_add_origin(spool->tree, TREE_ORIGIN_STORED, spool->tree->origins[0].path, descriptor,
	                                  &spool->origin);

	if (!error)
		spool->descriptor = descriptor;
	return error;
}

errcode_t archive_spool_flush(struct archive_spool *spool, struct problem *problem)
{
	errcode_t error = whole_write(spool->descriptor, spool->buffer, spool->used_bytes,
	                              spool->end_bytes - spool->used_bytes);

	if (error)
		return problem_set(problem, error, spool->directory, "cannot write a temporary file");
	spool->used_bytes = 0;
	return 0;
}

errcode_t archive_spool_write(struct archive_spool *spool, const void *bytes, size_t count, struct problem *problem)
{
	while (count) {
		size_t part = BUFFER_BYTES - spool->used_bytes;

		part = part < count ? part : count;
		memcpy(spool->buffer + spool->used_bytes, bytes, part);
		spool->used_bytes += part;
		spool->end_bytes += part;
		bytes = (const char *)bytes + part;
		count -= part;
		errcode_t error = spool->used_bytes == BUFFER_BYTES ? archive_spool_flush(spool, problem) : 0;

		if (error)
			return error;
	}
	return 0;
}
