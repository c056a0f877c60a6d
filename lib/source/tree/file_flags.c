/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/tree/file_flags.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

/* How a filesystem stores a file, and what has rules of its own here: nothing that a user would miss. */
#define SILENT                                                                                                         \
	((uint32_t)(FS_DIRTY_FL | FS_COMPRBLK_FL | FS_ENCRYPT_FL | FS_INDEX_FL | FS_IMAGIC_FL | FS_HUGE_FILE_FL |      \
	            FS_EXTENT_FL | FS_VERITY_FL | FS_EA_INODE_FL | FS_EOFBLOCKS_FL | FS_INLINE_DATA_FL |               \
	            FS_PROJINHERIT_FL | FS_CASEFOLD_FL | FS_RESERVED_FL))

uint32_t file_flags_of_type(uint32_t mode)
{
	if (S_ISDIR(mode))
		return FILE_FLAGS_KEPT;
	if (S_ISREG(mode))
		return FILE_FLAGS_KEPT & ~(uint32_t)(FS_DIRSYNC_FL | FS_TOPDIR_FL);
	return FS_NODUMP_FL | FS_NOATIME_FL;
}

static bool has_none(errcode_t error)
{
	return error == ENOTTY || error == EOPNOTSUPP || error == EINVAL || error == ENOSYS;
}

/* Before Linux 5.13 a filesystem could have this call only. */
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
	/* The call's number says long, but what it stores is an int. */
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

static const struct {
	const char *name;
	uint32_t flag;
} names[] = {
	{ "sappnd", FS_APPEND_FL },
	{ "sappend", FS_APPEND_FL },
	{ "uappnd", FS_APPEND_FL },
	{ "uappend", FS_APPEND_FL },
	{ "schg", FS_IMMUTABLE_FL },
	{ "schange", FS_IMMUTABLE_FL },
	{ "simmutable", FS_IMMUTABLE_FL },
	{ "uchg", FS_IMMUTABLE_FL },
	{ "uchange", FS_IMMUTABLE_FL },
	{ "uimmutable", FS_IMMUTABLE_FL },
	{ "nodump", FS_NODUMP_FL },
	{ "noatime", FS_NOATIME_FL },
	{ "sync", FS_SYNC_FL },
	{ "dirsync", FS_DIRSYNC_FL },
	{ "topdir", FS_TOPDIR_FL },
	{ "journal", FS_JOURNAL_DATA_FL },
	{ "journal-data", FS_JOURNAL_DATA_FL },
	{ "notail", FS_NOTAIL_FL },
	{ "compress", FS_COMPR_FL },
	{ "secdel", FS_SECRM_FL },
	{ "securedeletion", FS_SECRM_FL },
	{ "undel", FS_UNRM_FL },
	{ "dax", FS_DAX_FL },
	{ "projinherit", FS_PROJINHERIT_FL },
};

static bool is_word(const char *name, const char *text, size_t bytes)
{
	return strlen(name) == bytes && !memcmp(name, text, bytes);
}

/* "nodump" is a flag and "dump" says that it is not set; "nosync" says that "sync" is not. */
static uint32_t parse_word(const char *text, size_t bytes)
{
	uint32_t result = bytes && !is_word("none", text, bytes) ? FILE_FLAGS_UNKNOWN : 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *name = names[i].name;

		if (is_word(name, text, bytes))
			return names[i].flag;
		if ((bytes > 2 && !memcmp(text, "no", 2) && is_word(name, text + 2, bytes - 2)) ||
		    (!strncmp(name, "no", 2) && is_word(name + 2, text, bytes)))
			result = 0;
	}
	return result;
}

uint32_t file_flags_parse(const char *text)
{
	uint32_t flags = 0;

	for (size_t bytes; *text; text += bytes + (text[bytes] == ',')) {
		bytes = strcspn(text, ",");
		flags |= parse_word(text, bytes);
	}
	return flags;
}
