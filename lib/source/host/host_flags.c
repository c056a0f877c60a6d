/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/host_flags.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/ioctl.h>

#include "tree/file_flags.h"

/*
 * These flags are dropped without a message: they say how a filesystem stores a file, or have rules of their own here,
 * so no user would miss them.
 */
#define SILENT                                                                                                         \
	((uint32_t)(FS_DIRTY_FL | FS_COMPRBLK_FL | FS_ENCRYPT_FL | FS_INDEX_FL | FS_IMAGIC_FL | FS_HUGE_FILE_FL |      \
	            FS_EXTENT_FL | FS_VERITY_FL | FS_EA_INODE_FL | FS_EOFBLOCKS_FL | FS_INLINE_DATA_FL |               \
	            FS_PROJINHERIT_FL | FS_CASEFOLD_FL | FS_RESERVED_FL))

static bool has_none(errcode_t error)
{
	return error == ENOTTY || error == EOPNOTSUPP || error == EINVAL || error == ENOSYS;
}

/* Reads the flags with FS_IOC_FSGETXATTR. Before Linux 5.13 a filesystem could have this call only. */
static uint32_t read_extended(int descriptor)
{
	static const struct {
		uint32_t extended, flag;
	} pairs[] = {
		{ FS_XFLAG_IMMUTABLE, FS_IMMUTABLE_FL }, { FS_XFLAG_APPEND, FS_APPEND_FL },
		{ FS_XFLAG_SYNC, FS_SYNC_FL },           { FS_XFLAG_NOATIME, FS_NOATIME_FL },
		{ FS_XFLAG_NODUMP, FS_NODUMP_FL },       { FS_XFLAG_DAX, FS_DAX_FL },
	};
	struct fsxattr attributes;
	uint32_t flags = 0;

	if (ioctl(descriptor, FS_IOC_FSGETXATTR, &attributes))
		return has_none(errno) ? 0 : FILE_FLAGS_UNREAD;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (attributes.fsx_xflags & pairs[i].extended)
			flags |= pairs[i].flag;
	return flags;
}

errcode_t file_flags_ask(int descriptor, uint32_t *flags)
{
	/* The call's number says long, but the call stores an int. */
	union {
		unsigned int flags;
		long space;
	} answer = { .space = 0 };

	if (ioctl(descriptor, FS_IOC_GETFLAGS, &answer))
		return errno;
	*flags = answer.flags & FILE_FLAGS_KEPT;
	if (answer.flags & ~(FILE_FLAGS_KEPT | SILENT))
		*flags |= FILE_FLAGS_UNKNOWN;
	return 0;
}

uint32_t file_flags_otherwise(int descriptor, errcode_t error)
{
	return has_none(error) ? read_extended(descriptor) : FILE_FLAGS_UNREAD;
}

errcode_t file_flags_read(int descriptor, uint32_t *flags)
{
	errcode_t error = file_flags_ask(descriptor, flags);

	if (error && error != EIO)
		*flags = file_flags_otherwise(descriptor, error);
	return error == EIO ? EIO : 0;
}
