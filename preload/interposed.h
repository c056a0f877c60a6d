/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of libfuse and libss that are put before theirs; libext2fs's are in its own header. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

int fuse_main_real(int argument_count, char **arguments, const void *operations, size_t bytes, void *data);
int fuse_main_real_versioned(int argument_count, char **arguments, const void *operations, size_t bytes, void *version,
                             void *data);
int ss_execute_line(int invocation, char *line);

/* Of libfuse, called alone: how it begins is the same in both versions. */
struct fuse_context {
	void *fuse;
	uid_t uid;
	gid_t gid;
};
struct fuse_context *fuse_get_context(void);
