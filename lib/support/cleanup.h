/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Scope cleanup: a resource is released when its variable goes out of scope, so an early return cannot leak it and no
 * status variable can go stale on the way to a common exit.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_close_descriptor(const int *descriptor)
{
	if (*descriptor >= 0)
		close(*descriptor);
}

static inline void cleanup_close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

static inline void cleanup_close_stream(FILE **stream)
{
	if (*stream)
		fclose(*stream);
}

#define SCOPE_FREE __attribute__((cleanup(cleanup_free_pointer)))
#define SCOPE_CLOSE __attribute__((cleanup(cleanup_close_descriptor)))
#define SCOPE_CLOSEDIR __attribute__((cleanup(cleanup_close_directory)))
#define SCOPE_FCLOSE __attribute__((cleanup(cleanup_close_stream)))

/* Hands a scoped pointer over to a caller: the scope no longer frees it. */
#define TAKE(pointer)                                                                                                  \
	({                                                                                                             \
		__typeof__(pointer) taken = (pointer);                                                                 \
		(pointer) = NULL;                                                                                      \
		taken;                                                                                                 \
	})

#define MUST_CHECK __attribute__((warn_unused_result))

/* A parameter that a function has only because others of its type need it. */
#define UNUSED __attribute__((unused))
