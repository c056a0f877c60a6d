/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Errors that libext2fs (1.47.0 to 1.47.2) does not report. Its iterations over blocks and names return 0 although an
 * extent tree could not be opened or read: a directory then looks empty, and a file seems to have no blocks. Without
 * memory for its caches or an extent handle libext2fs crashes.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>

#include <ext2fs/ext2fs.h>

#include "support/cleanup.h"

/*
 * ext2fs_open2() with unix_io, for callers that read inodes: it allocates libext2fs's caches. The filesystem begins
 * at offset_bytes; 64-bit ones are opened, too. ENOMEM replaces EXT2_ET_NO_MEMORY. *fs is NULL after an error; else
 * the caller frees it with ext2fs_free().
 */
errcode_t fs_open(const char *path, uint64_t offset_bytes, int flags, ext2_filsys *fs) MUST_CHECK;

/* The same with another io_manager. */
errcode_t fs_open_with(io_manager manager, const char *path, uint64_t offset_bytes, int flags,
                       ext2_filsys *fs) MUST_CHECK;

/*
 * Whether to open this path; false for a fifo, since open(2) would wait for its writer. True for a missing path or a
 * directory, so that opening it gives the error.
 */
bool fs_may_be_at(const char *path);

/*
 * Returns 0 if that much memory is available, else ENOMEM. It is freed at once, for the following calls of libext2fs,
 * which need less but crash without.
 */
errcode_t fs_memory_ahead(size_t bytes) MUST_CHECK;

/* Returns the error of a call of libext2fs: ENOMEM or EIO from errno, where malloc(3) and pread(2) leave them, if the
 * call did not return it; ENOMEM for EXT2_ET_NO_MEMORY. */
errcode_t fs_error_of(errcode_t returned) MUST_CHECK;

/* More than the buffers for a walk down an extent tree, and less than malloc(3)'s threshold for mmap(2). */
#define FS_CALL_BYTES (96 * 1024)

/* The error of a call of libext2fs, also one that the call does not return. 0: it succeeded. */
#define FS_ERROR_OF(call)                                                                                              \
	({                                                                                                             \
		errcode_t error_of_call = fs_memory_ahead(FS_CALL_BYTES);                                              \
                                                                                                                       \
		if (!error_of_call) {                                                                                  \
			errno = 0;                                                                                     \
			error_of_call = fs_error_of(call);                                                             \
		}                                                                                                      \
		error_of_call;                                                                                         \
	})
