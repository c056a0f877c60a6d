/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/projects.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "support/cleanup.h"

/*
 * Linux 6.17 has this call. Older headers lack its struct and its number; few architectures have a number of their own
 * for it.
 */
#ifndef SYS_file_getattr
#if defined(__alpha__) || defined(__mips__)
#define SYS_file_getattr (-1)
#else
#define SYS_file_getattr 468
#endif
#endif

struct attributes { /* struct file_attr */
	uint64_t xflags;
	uint32_t extsize, nextents, projid, cowextsize;
};

static errcode_t ask_opened(int descriptor, struct attributes *attributes)
{
	struct fsxattr old;

	if (descriptor < 0 || ioctl(descriptor, FS_IOC_FSGETXATTR, &old))
		return errno;
	attributes->xflags = old.fsx_xflags;
	attributes->projid = old.fsx_projid;
	return 0;
}

static errcode_t ask_by_name(int directory, const char *name, uint32_t mode, struct attributes *attributes)
{
	if (syscall(SYS_file_getattr, directory, name, attributes, sizeof(*attributes), AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	/* EPERM: a filter of system calls does not know the call. */
	if (errno != ENOSYS && errno != EPERM)
		return errno;
	if (!S_ISREG(mode) && !S_ISDIR(mode))
		return EOPNOTSUPP;
	SCOPE_CLOSE int descriptor = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return ask_opened(descriptor, attributes);
}

/* True if the error says only that a file has no project. A file that has vanished is noticed when it is copied. */
static bool says_nothing(errcode_t error)
{
	return error == EOPNOTSUPP || error == ENOTTY || error == EINVAL || error == ENOENT || error == ENOTDIR ||
	       error == ENAMETOOLONG || error == ELOOP;
}

errcode_t project_read(int directory, const char *name, uint32_t mode, const struct project *of_directory,
                       struct project *project)
{
	struct attributes attributes = { 0 };
	errcode_t error = ask_by_name(directory, name, mode, &attributes);

	*project = (struct project){ 0 };
	if (says_nothing(error)) {
		project->id = of_directory->is_inherited ? of_directory->id : 0;
		return 0;
	}
	if (error)
		return error;
	project->id = attributes.projid;
	project->is_inherited = S_ISDIR(mode) && (attributes.xflags & FS_XFLAG_PROJINHERIT);
	return 0;
}
