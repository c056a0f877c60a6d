/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Errors that libext2fs (1.47.0 to 1.47.2) does not report. Its iterations over blocks and names return 0 although an
 * extent tree could not be opened or read: a directory then looks empty, a file without blocks. Where memory is lacking
 * for its caches or an extent handle, it crashes.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>

#include <ext2fs/ext2fs.h>

#include "support/cleanup.h"

/*
 * ext2fs_open2() with unix_io, for those who read inodes: libext2fs's caches have their memory afterwards. The
 * filesystem begins at offset_bytes; 64-bit ones are opened, too. ENOMEM where libext2fs says EXT2_ET_NO_MEMORY. *fs is
 * NULL after an error; else the caller frees it with ext2fs_free().
 */
errcode_t fs_open(const char *path, uint64_t offset_bytes, int flags, ext2_filsys *fs) MUST_CHECK;

/* The same with another io_manager. */
errcode_t fs_open_with(io_manager manager, const char *path, uint64_t offset_bytes, int flags,
                       ext2_filsys *fs) MUST_CHECK;

/*
 * Whether to open it: open(2) would wait for a fifo's writer. A path that is missing is opened, for its error, and so
 * is a directory.
 */
bool fs_may_be_at(const char *path);

/*
 * Returns 0 if that much memory can be had. It is given back at once, for the calls of libext2fs that follow and crash
 * without; they need less. ENOMEM: there is not so much.
 */
errcode_t fs_memory_ahead(size_t bytes) MUST_CHECK;

/* What a call of libext2fs returned, but ENOMEM or EIO, which malloc(3) and pread(2) leave in errno, where it kept that
 * to itself, and ENOMEM for EXT2_ET_NO_MEMORY. */
errcode_t fs_error_of(errcode_t returned) MUST_CHECK;

/* More than the buffers for a walk down an extent tree. Less than what malloc(3) maps and unmaps each time. */
#define FS_CALL_BYTES (96 * 1024)

/* The error of a call of libext2fs, also one that the call keeps to itself. 0: all that was asked for was done. */
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
