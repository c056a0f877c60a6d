/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that are called instead of libfuse's and libss's; libext2fs's own header declares those that replace its
 * functions. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

int fuse_main_real(int argument_count, char **arguments, const void *operations, size_t bytes, void *data);
int fuse_main_real_versioned(int argument_count, char **arguments, const void *operations, size_t bytes, void *version,
                             void *data);
int ss_execute_line(int invocation, char *line);

/* The beginning of libfuse's structure, which is the same in both versions. */
struct fuse_context {
	void *fuse;
	uid_t uid;
	gid_t gid;
};
struct fuse_context *fuse_get_context(void);
