/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filesystem/fs_errors.h"

#include <inttypes.h>
#include <sys/stat.h>

/* More than libext2fs's caches of blocks, 32 of up to 64 KiB, and of inodes. */
#define OPEN_BYTES (3 * 1024 * 1024)

/* libext2fs's default number. */
#define CACHED_INODES 4

errcode_t fs_memory_ahead(size_t bytes)
{
	/* volatile: compilers remove an allocation that is freed without a use. */
	void *volatile ahead = malloc(bytes);

	if (!ahead)
		return ENOMEM;
	free(ahead);
	return 0;
}

errcode_t fs_error_of(errcode_t returned)
{
	if (returned == EXT2_ET_NO_MEMORY)
		return ENOMEM;
	return !returned && (errno == ENOMEM || errno == EIO) ? errno : returned;
}

bool fs_may_be_at(const char *path)
{
	struct stat status;

	return stat(path, &status) || S_ISREG(status.st_mode) || S_ISBLK(status.st_mode) || S_ISDIR(status.st_mode);
}

errcode_t fs_open_with(io_manager manager, const char *path, uint64_t offset_bytes, int flags, ext2_filsys *fs)
{
	char io_options[32];

	snprintf(io_options, sizeof(io_options), "offset=%" PRIu64, offset_bytes);
	*fs = NULL;
	errcode_t error = fs_memory_ahead(OPEN_BYTES);

	if (!error)
		error = FS_ERROR_OF(ext2fs_open2(path, offset_bytes ? io_options : NULL, flags | EXT2_FLAG_64BITS, 0, 0,
		                                 manager, fs));
	if (!error)
		error = FS_ERROR_OF(ext2fs_create_inode_cache(*fs, CACHED_INODES));
	if (error && *fs)
		ext2fs_free(TAKE(*fs));
	return error;
}

errcode_t fs_open(const char *path, uint64_t offset_bytes, int flags, ext2_filsys *fs)
{
	return fs_open_with(unix_io_manager, path, offset_bytes, flags, fs);
}
