// SPDX-License-Identifier: GPL-2.0-or-later
/* A member's type, owner, mode, times, target and device. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "source/archive/archive_scan.h"
#include "source/tree/file_flags.h"

#define NANOSECONDS 1000000000

static void set_time(const struct archive_scan *scan, struct tree_node *node)
{
	long nanoseconds = archive_entry_mtime_nsec(scan->entry);

	if (scan->header.has_time) {
		node->mtime_seconds = scan->header.seconds;
		node->mtime_nanoseconds = scan->header.nanoseconds;
		return;
	}
	node->mtime_seconds = archive_entry_mtime(scan->entry);
	node->mtime_nanoseconds = nanoseconds < 0 || nanoseconds >= NANOSECONDS ? 0 : (uint32_t)nanoseconds;
}

static void set_flags(const struct archive_scan *scan, struct tree_node *node)
{
	const char *text = scan->options->without_flags ? NULL : archive_entry_fflags_text(scan->entry);

	node->flags = text ? file_flags_parse(text) : 0;
	node->has_flags = true;
}

static errcode_t set_owner(const struct archive_scan *scan, struct tree_node *node)
{
	la_int64_t uid = archive_entry_uid(scan->entry), gid = archive_entry_gid(scan->entry);

	if (uid < 0 || uid > UINT32_MAX || gid < 0 || gid > UINT32_MAX)
		return archive_scan_problem(scan, EOVERFLOW, "cannot read", "its owner does not fit in 32 bits");
	node->uid = (uint32_t)uid;
	node->gid = (uint32_t)gid;
	return 0;
}

static errcode_t set_target(const struct archive_scan *scan, struct tree_node *node)
{
	const char *target = archive_entry_symlink(scan->entry);
	size_t bytes = target ? strlen(target) : 0;

	if (!bytes)
		return archive_scan_problem(scan, EINVAL, "cannot read", "the symbolic link has no target");
	if (bytes >= PATH_MAX)
		return archive_scan_problem(scan, ENAMETOOLONG, "cannot read",
		                            "it is a symbolic link to a path of more than 4095 bytes");
	node->size_bytes = bytes;
	node->target = arena_copy_string(&scan->tree->memory, target, bytes);
	return node->target ? 0 : archive_scan_problem(scan, ENOMEM, "cannot read", NULL);
}

/* As many bits as Linux has for them. */
static errcode_t set_device(const struct archive_scan *scan, struct tree_node *node)
{
	uint64_t major = archive_entry_rdevmajor(scan->entry), minor = archive_entry_rdevminor(scan->entry);

	if (major >= 1u << 12 || minor >= 1u << 20)
		return archive_scan_problem(scan, EOVERFLOW, "cannot read", "its device numbers are too large");
	node->device.major = (uint32_t)major;
	node->device.minor = (uint32_t)minor;
	return 0;
}

errcode_t archive_scan_attributes(struct archive_scan *scan, struct tree_node *node)
{
	mode_t type = archive_entry_filetype(scan->entry);

	*node = (struct tree_node){ .mode = (uint16_t)(archive_entry_perm(scan->entry) & 07777) };
	set_time(scan, node);
	set_flags(scan, node);
	errcode_t error = set_owner(scan, node);

	if (error)
		return error;
	switch (type) {
	case AE_IFREG:
		node->mode |= S_IFREG;
		break;
	case AE_IFDIR:
		node->mode |= S_IFDIR;
		break;
	case AE_IFIFO:
		node->mode |= S_IFIFO;
		break;
	case AE_IFSOCK:
		node->mode |= S_IFSOCK;
		break;
	case AE_IFLNK:
		node->mode = S_IFLNK | 0777;
		error = set_target(scan, node);
		break;
	case AE_IFCHR:
	case AE_IFBLK:
		node->mode |= type == AE_IFCHR ? S_IFCHR : S_IFBLK;
		error = set_device(scan, node);
		break;
	default:
		return archive_scan_problem(scan, EINVAL, "cannot read", "it has no known type");
	}
	return error ? error : archive_scan_xattrs(scan, node);
}
